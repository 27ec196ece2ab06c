// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/step_list.hpp>
#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>

#include <string>

namespace weft::inline v1::collective {

/// What every rank holds of one chunk after a step list, as an expression: contributions 0 .. ranks - 1 and sums of two
/// expressions. The order of a sum's two sides does not count, since IEEE 754 addition commutes (two NaNs excepted, of
/// whose payloads only one survives); the nesting does. Equal expressions are one number, so equal numbers mean equal
/// bits.
class association {
 public:
  constexpr association(step_list const& list, int chunk) : ranks_(list.ranks), held_(list.ranks) {
    int additions = 0;
    for (step const& each : list.steps)
      if (each.chunk == chunk && each.what == arrival::add) ++additions;
    sums_ = detail::buffer<sum>(additions);
    for (int rank = 0; rank < ranks_; ++rank) held_[rank] = rank;
    detail::buffer<int> before(held_);
    int round = 0;
    for (step const& each : list.steps) {
      if (each.chunk != chunk) continue;
      if (each.round != round) {
        round = each.round;
        before = held_;
      }
      int const arriving = before[each.from];
      held_[each.to] = each.what == arrival::add ? add(held_[each.to], arriving) : arriving;
    }
  }

  /// The expression that `rank` ends with.
  [[nodiscard]] constexpr int operator[](int rank) const { return held_[rank]; }

  /// It in words, say "((0 + 1) + 2)".
  [[nodiscard]] std::string text(int rank) const { return text_of(held_[rank]); }

 private:
  struct sum {
    int first = 0;
    int second = 0;
  };

  constexpr int add(int own, int received) {
    int const first = own < received ? own : received;
    int const second = own < received ? received : own;
    for (int index = 0; index < found_; ++index)
      if (sums_[index].first == first && sums_[index].second == second) return ranks_ + index;
    sums_[found_] = {first, second};
    return ranks_ + found_++;
  }

  [[nodiscard]] std::string text_of(int expression) const {
    if (expression < ranks_) return std::to_string(expression);
    sum const& each = sums_[expression - ranks_];
    return "(" + text_of(each.first) + " + " + text_of(each.second) + ")";
  }

  int ranks_;
  int found_ = 0;
  detail::buffer<int> held_;
  detail::buffer<sum> sums_;
};

/// True where every rank ends with the same expression of every chunk: after such an all-reduce replicas hold equal
/// bits. `check` says that nothing is missing; this says that nothing is nested differently.
constexpr bool has_one_association(step_list const& list) {
  for (int chunk = 0; chunk < list.chunks; ++chunk) {
    association const ends(list, chunk);
    for (int rank = 1; rank < list.ranks; ++rank)
      if (ends[rank] != ends[0]) return false;
  }
  return true;
}

}  // namespace weft::inline v1::collective
