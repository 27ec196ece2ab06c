// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "token_shard.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mini_llm {

/// Shards put end to end: token `index` of the whole. Opened once, shared by the streams that read them.
class shard_list {
 public:
  shard_list(std::vector<token_shard> shards, std::int64_t vocabulary)
      : shards_(std::move(shards)),
        vocabulary_(vocabulary) {
    for (token_shard const& each : shards_) begin_.push_back(begin_.back() + each.tokens());
  }

  [[nodiscard]] std::vector<token_shard> const& shards() const { return shards_; }
  [[nodiscard]] std::int64_t size() const { return begin_.back(); }

  /// Errors: a shard that was cut or overwritten since it was opened.
  void copy(std::int64_t first, std::int64_t count, std::int32_t* out) const {
    auto shard = static_cast<std::size_t>(std::upper_bound(begin_.begin(), begin_.end(), first) - begin_.begin()) - 1;
    for (; count > 0; ++shard) {
      std::int64_t const at = first - begin_[shard];
      std::int64_t const here = std::min(count, shards_[shard].tokens() - at);
      shards_[shard].read(at, here, out);
      for (std::int64_t index = 0; index < here; ++index)
        if (out[index] < 0 || out[index] >= vocabulary_)
          throw weft::error("mini_llm::data: " + shards_[shard].path().string() + ": token " +
                            std::to_string(at + index) + " is no longer below " + std::to_string(vocabulary_) +
                            "; do not write to the data during a run");
      first += here;
      out += here;
      count -= here;
    }
  }

 private:
  std::vector<token_shard> shards_;
  std::vector<std::int64_t> begin_{0};
  std::int64_t vocabulary_;
};

/// A row of tokens that is learnt or validated on, wherever it lies: bytes of a text in memory, or a range of shards.
class token_stream {
 public:
  token_stream() = default;
  /// Bytes are tokens. They must outlive the stream.
  template <class Bytes>
    requires std::convertible_to<Bytes const&, std::span<std::uint8_t const>> token_stream(
        Bytes const& bytes)  // NOLINT: a text is a stream of tokens
        : bytes_(bytes),
          size_(static_cast<std::int64_t>(bytes_.size())) {}
    token_stream(std::shared_ptr<shard_list const> shards, std::int64_t first, std::int64_t size)
        : shards_(std::move(shards)),
          first_(first),
          size_(size) {}

    [[nodiscard]] std::int64_t size() const { return size_; }

    /// Tokens [first, first + count), which must be inside. Does not allocate.
    void copy(std::int64_t first, std::int64_t count, std::int32_t* out) const {
      if (shards_ != nullptr) return shards_->copy(first_ + first, count, out);
      auto const from = bytes_.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
      std::copy(from.begin(), from.end(), out);
    }

   private:
    std::span<std::uint8_t const> bytes_;
    std::shared_ptr<shard_list const> shards_;
    std::int64_t first_ = 0;
    std::int64_t size_ = 0;
};

}  // namespace mini_llm
