// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/error.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/validity.hpp>
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

/// What a policy writes its rows into: `put(op::forward, stage, micro_batch)`.
class row_writer {
 public:
  /// `room`: how many actions the row may have; what comes beyond is counted and not written.
  constexpr row_writer(action* next, int room) : first_(next), next_(next), end_(next + room) {}

  constexpr void operator()(op what, int stage, int micro_batch) {
    if (next_ == end_) {
      ++refused_;
      return;
    }
    next_->what = what;
    next_->stage = static_cast<std::uint16_t>(stage);
    next_->micro_batch = static_cast<std::uint32_t>(micro_batch);
    ++next_;
  }

  [[nodiscard]] constexpr int written() const { return static_cast<int>(next_ - first_); }
  [[nodiscard]] constexpr int refused() const { return refused_; }

 private:
  action* first_;
  action* next_;
  action* end_;
  int refused_ = 0;
};

namespace detail {

[[noreturn]] inline void refuse_row(char const* policy, int rank, int written, int room) {
  throw error("weft::schedule::" + std::string(policy) + ": write_row puts " + std::to_string(written) +
                  " actions into the row of rank " + std::to_string(rank) + ", whose stages have work for " +
                  std::to_string(room) + "; write each action once, and state chunks and splits_backward as they are",
              {.rank = rank});
}

}  // namespace detail

/// The table of a policy: compute actions alone, before `lower`. Call `Policy::check` first. Throws `weft::error` if
/// the policy writes more into a row than the rank's stages have work for (while compiling: not a constant).
template <class Policy>
constexpr program write_table(int ranks, int micro_batches) {
  if (validity const found = Policy::check(ranks, micro_batches); !found.legal())
    throw error(explain(found, Policy::name));
  int const stages = Policy::chunks * ranks;
  int const passes = Policy::work.backward ? (Policy::splits_backward ? 3 : 2) : 1;
  topology::stage_graph graph = topology::stage_graph::chain(stages).place(typename Policy::placement{}, ranks);
  weft::detail::buffer<int> work(ranks);
  for (int which = 0; which < stages * Policy::placement::copies; ++which)
    work[graph.view().rank_of_stage[which]] += passes * micro_batches;
  program result(Policy::name, std::move(graph), micro_batches, Policy::work,
                 passes * micro_batches * stages * Policy::placement::copies);
  for (int rank = 0; rank < ranks; ++rank) {
    row_writer put(result.cursor(), work[rank]);
    Policy::write_row(rank, ranks, micro_batches, put);
    if (put.refused() > 0) detail::refuse_row(Policy::name, rank, put.written() + put.refused(), work[rank]);
    result.advance(put.written());
    result.end_row();
  }
  return result;
}

}  // namespace weft::inline v1::schedule
