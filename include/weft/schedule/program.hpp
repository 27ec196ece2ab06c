// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/error.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/topology/stage_graph.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace weft::inline v1::schedule {

/// Owns the arrays that a `program_view` shows; one type for programs made while compiling and at start-up.
///
/// Filled row by row, rank 0 first: `append` the actions, then `end_row()`; then `slots()` where it is lowered.
/// Views stay valid when the program is moved, and end with it.
class program {
 public:
  constexpr program() = default;

  /// `capacity`: the most actions that all rows together will hold.
  constexpr program(std::string_view name, topology::stage_graph graph, int micro_batches, work_set work, int capacity)
      : graph_(std::move(graph)),
        actions_(capacity),
        rows_(graph_.view().ranks),
        row_of_rank_(graph_.view().ranks),
        name_(static_cast<int>(name.size()) + 1),
        micro_batches_(micro_batches),
        work_(work) {
    for (int index = 0; index < static_cast<int>(name.size()); ++index)
      name_[index] = name[static_cast<unsigned>(index)];
    for (int rank = 0; rank < row_of_rank_.size(); ++rank) row_of_rank_[rank] = rank;
  }

  // A copy's rows must point into its own actions; nothing needs copies, so there are none.
  program(program const&) = delete;
  program& operator=(program const&) = delete;
  constexpr program(program&&) noexcept = default;
  constexpr program& operator=(program&&) noexcept = default;
  constexpr ~program() = default;

  /// Throws `weft::error` beyond the capacity.
  constexpr void append(action const& added) {
    if (room() < 1) refuse("actions", actions_.size());
    actions_[size_++] = added;
  }

  /// Where the next action goes; `advance` afterwards. For writers that write many, and stay within `room()`.
  [[nodiscard]] constexpr action* cursor() { return actions_.data() + size_; }
  [[nodiscard]] constexpr int room() const { return actions_.size() - size_; }
  constexpr void advance(int count) {
    if (count > room()) refuse("actions", actions_.size());
    size_ += count;
  }

  /// Throws `weft::error` beyond the graph's ranks.
  constexpr void end_row() {
    if (row_count_ == rows_.size()) refuse("rows", rows_.size());
    rows_[row_count_++] = row_view{actions_.data() + row_begin_, size_ - row_begin_};
    row_begin_ = size_;
  }

  constexpr void set_slots(weft::detail::buffer<slot_counts> slots) { slots_ = std::move(slots); }
  constexpr void set_recomputes(bool recomputes) { recomputes_ = recomputes; }
  constexpr void set_reduces_over_data(bool reduces) { work_.reduces_over_data = reduces; }
  constexpr void set_reduces_over_copies(bool reduces) { work_.reduces_over_copies = reduces; }
  constexpr void set_post_validated(bool validated) { work_.post_validated = validated; }
  constexpr void set_reduces_ties(bool reduces) { work_.reduces_ties = reduces; }

  [[nodiscard]] constexpr int action_count() const { return size_; }

  [[nodiscard]] constexpr program_view view() const {
    program_view result;
    result.rows = rows_.data();
    result.row_count = row_count_;
    result.row_of_rank = row_of_rank_.data();
    result.micro_batches = micro_batches_;
    result.graph = graph_.view();
    result.work = work_;
    result.slots = slots_.data();
    result.is_lowered = !slots_.empty();
    result.recomputes = recomputes_;
    result.name = name_.empty() ? "" : name_.data();
    return result;
  }

 private:
  [[noreturn]] void refuse(char const* what, int most) const {
    throw error("weft::schedule::program: '" + std::string(view().name) + "' has room for " + std::to_string(most) +
                " " + what + ", and more are written; construct it with their number");
  }

  topology::stage_graph graph_;
  weft::detail::buffer<action> actions_;
  weft::detail::buffer<row_view> rows_;
  weft::detail::buffer<int> row_of_rank_;
  weft::detail::buffer<slot_counts> slots_;
  weft::detail::buffer<char> name_;
  int size_ = 0;
  int row_begin_ = 0;
  int row_count_ = 0;
  int micro_batches_ = 0;
  work_set work_;
  bool recomputes_ = false;
};

}  // namespace weft::inline v1::schedule
