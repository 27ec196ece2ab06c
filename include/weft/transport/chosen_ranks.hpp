// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

namespace weft::inline v1::transport {

/// Some of a door's ranks: all of them, or those of a list. An empty list means none, and not all: it is what a rank
/// gets that asked for the ranks with which it shares something, and shares it with nobody.
class chosen_ranks {
 public:
  static chosen_ranks all() {
    chosen_ranks every({});
    every.are_all_ = true;
    return every;
  }
  chosen_ranks(std::vector<int> ranks) : ranks_(std::move(ranks)) {}
  chosen_ranks(std::initializer_list<int> ranks) : ranks_(ranks) {}  // also {}, which is no rank

  [[nodiscard]] bool contains(int rank) const {
    return are_all_ || std::find(ranks_.begin(), ranks_.end(), rank) != ranks_.end();
  }
  /// Ascending, each once, of `size` ranks; a list may name ranks that do not exist.
  [[nodiscard]] std::vector<int> among(int size) const {
    std::vector<int> named = ranks_;
    for (int rank = 0; rank < size && are_all_; ++rank) named.push_back(rank);
    std::sort(named.begin(), named.end());
    named.erase(std::unique(named.begin(), named.end()), named.end());
    return named;
  }

 private:
  std::vector<int> ranks_;
  bool are_all_ = false;
};

}  // namespace weft::inline v1::transport
