// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/error.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/detail/body_places.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/repetition.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/stage_graph.hpp>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace weft::inline v1::schedule {

/// What a policy writes a row into: `put(op::forward, stage, micro_batch)`, and with two copies of the model
/// `put(op::forward, stage, micro_batch, copy)`.
class row_writer {
 public:
  /// `room`: how many actions the row may have; what comes beyond is counted and not written.
  constexpr row_writer(action* next, int room) : first_(next), next_(next), end_(next + room) {}

  constexpr void operator()(op what, int stage, int micro_batch, int copy = 0, std::uint8_t part = parts::whole) {
    if (next_ == end_) {
      ++refused_;
      return;
    }
    next_->what = what;
    next_->stage = static_cast<std::uint16_t>(stage);
    next_->micro_batch = static_cast<std::uint32_t>(micro_batch);
    next_->copy = static_cast<std::uint8_t>(copy);
    next_->part = part;
    ++next_;
  }

  /// An action of an asynchronous schedule: F, B, I or W that reads weights made by `version` STEPs (modulo 256).
  constexpr void at_version(op what, int stage, int micro_batch, int version, int copy = 0) {
    if (next_ != end_) next_->version = static_cast<std::uint8_t>(version & 255);
    (*this)(what, stage, micro_batch, copy);
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

[[noreturn]] inline void refuse_repetition(char const* policy, int rank, int micro_batches) {
  throw error("weft::schedule::" + std::string(policy) + ": repeats() says that rows repeat, but at " +
                  std::to_string(micro_batches) + " micro-batches the row of rank " + std::to_string(rank) +
                  " does not grow by one body; correct repeats(), or remove it",
              {.rank = rank});
}

constexpr bool same_row(row_view left, row_view right) {
  if (left.size != right.size) return false;
  for (int index = 0; index < left.size; ++index)
    if (left[index] != right[index]) return false;
  return true;
}

}  // namespace detail

/// What a policy that looks at all ranks at once writes into: `put(rank, op::forward, stage, micro_batch)`, in the
/// order of each rank's row, the ranks in any order; with two copies the copy comes last.
class table_writer {
 public:
  /// `room`: how many actions each row may have; what comes beyond is counted and not written.
  explicit constexpr table_writer(weft::detail::buffer<int> const& room) : begin_(room.size() + 1), size_(room.size()) {
    for (int rank = 0; rank < room.size(); ++rank) begin_[rank + 1] = begin_[rank] + room[rank];
    actions_ = weft::detail::buffer<action>(begin_[room.size()]);
  }

  constexpr void operator()(int rank, op what, int stage, int micro_batch, int copy = 0) {
    int const next = begin_[rank] + size_[rank]++;
    if (next < begin_[rank + 1]) {
      actions_[next] = make_action(what, stage, micro_batch);
      actions_[next].copy = static_cast<std::uint8_t>(copy);
    }
  }

  /// Written and refused.
  [[nodiscard]] constexpr int asked(int rank) const { return size_[rank]; }
  [[nodiscard]] constexpr int room(int rank) const { return begin_[rank + 1] - begin_[rank]; }
  [[nodiscard]] constexpr row_view row(int rank) const {
    return {actions_.data() + begin_[rank], size_[rank] < room(rank) ? size_[rank] : room(rank)};
  }

 private:
  weft::detail::buffer<int> begin_;
  weft::detail::buffer<int> size_;
  weft::detail::buffer<action> actions_;
};

/// A policy whose rows need all ranks at once.
template <class Policy>
concept writes_whole_table = requires(Policy const& policy, table_writer& put, int number) {
  policy.write_table(number, number, put);
};

/// A policy's stages: `chunks` on each of `ranks`, or what it says itself where ranks have differently many.
template <class Policy>
constexpr int stages_of(Policy const& policy, int ranks) {
  if constexpr (requires { policy.stages(ranks); })
    return policy.stages(ranks);
  else
    return policy.chunks * ranks;
}

/// What a policy's table must do; one that does not say so for a number of ranks has the same work on all.
template <class Policy>
constexpr work_set work_of(Policy const& policy, int ranks) {
  if constexpr (requires { policy.work_on(ranks); })
    return policy.work_on(ranks);
  else
    return policy.work;
}

/// Where a policy's stages live: by its type, or where ranks hold differently many by what it says itself.
template <class Policy>
constexpr auto placement_of(Policy const& policy, int ranks) {
  if constexpr (requires { policy.placed(ranks); })
    return policy.placed(ranks);
  else
    return typename Policy::placement{};
}

namespace detail {

/// STEPs that a policy writes for one stage itself, as asynchronous ones do; `lower` adds the others' one.
template <class Policy>
constexpr int written_steps(Policy const& policy, int ranks, int micro_batches) {
  if constexpr (requires { policy.steps_of(ranks, micro_batches); })
    return policy.steps_of(ranks, micro_batches);
  else
    return 0;
}

/// What the policy's own loops write.
template <class Policy>
constexpr program write_rows(int ranks, int micro_batches, Policy const& policy) {
  if (validity const found = policy.check(ranks, micro_batches); !found.legal())
    throw error(explain(found, policy.name));
  int const stages = stages_of(policy, ranks);
  int const passes = policy.work.backward ? (policy.splits_backward ? 3 : 2) : 1;
  auto const placement = placement_of(policy, ranks);
  int const copies = placement.copies;
  topology::stage_graph graph = topology::stage_graph::chain(stages).place(placement, ranks);
  weft::detail::buffer<int> room(ranks);
  int const work = passes * micro_batches + written_steps(policy, ranks, micro_batches);
  for (int which = 0; which < stages * copies; ++which) room[graph.view().rank_of_stage[which]] += work;
  program result(policy.name, std::move(graph), micro_batches, work_of(policy, ranks), work * stages * copies);
  if constexpr (writes_whole_table<Policy>) {
    table_writer put(room);
    policy.write_table(ranks, micro_batches, put);
    for (int rank = 0; rank < ranks; ++rank) {
      if (put.asked(rank) > room[rank]) refuse_row(policy.name, rank, put.asked(rank), room[rank]);
      for (action const& each : put.row(rank)) result.append(each);
      result.end_row();
    }
  } else {
    for (int rank = 0; rank < ranks; ++rank) {
      row_writer put(result.cursor(), room[rank]);
      policy.write_row(rank, ranks, micro_batches, put);
      if (put.refused() > 0) refuse_row(policy.name, rank, put.written() + put.refused(), room[rank]);
      result.advance(put.written());
      result.end_row();
    }
  }
  return result;
}

/// What defines the rows of a policy that repeats, for all counts of one residue: those of one body, and where it
/// stands.
struct row_pattern {
  program rows;
  body_places bodies;

  /// The rows of any larger count: prologue, bodies and epilogue.
  [[nodiscard]] constexpr program repeat(int micro_batches) const {
    program_view const from = rows.view();
    int const step = bodies.step;
    int const more = (micro_batches - from.micro_batches) / step;  // bodies beyond the one that is there
    int capacity = rows.action_count();
    for (int const length : bodies.body) capacity += more * length;
    program result(from.name, topology::stage_graph::copy_of(from.graph), micro_batches, from.work, capacity);
    for (int rank = 0; rank < from.ranks(); ++rank) {
      row_view const row = from.row(rank);
      int const begin = bodies.prologue[rank];
      int const end = begin + bodies.body[rank];
      action* next = result.cursor();
      for (int index = 0; index < end; ++index) *next++ = row.actions[index];
      for (int body = 1; body <= more; ++body) next = copy_shifted(row, begin, end, body * step, next);
      next = copy_shifted(row, end, row.size, more * step, next);
      result.advance(row.size + more * (end - begin));
      result.end_row();
    }
    return result;
  }

 private:
  static constexpr action* copy_shifted(row_view row, int begin, int end, int by, action* next) {
    for (int index = begin; index < end; ++index) {
      *next = row.actions[index];
      next->micro_batch += static_cast<std::uint32_t>(by);
      ++next;
    }
    return next;
  }
};

/// The pattern of a policy that repeats, for counts of the residue of `micro_batches`.
template <class Policy>
constexpr row_pattern pattern_of(int ranks, int micro_batches, repetition how, Policy const& policy) {
  int const base = how.base_of(micro_batches);
  program large = write_rows(ranks, base + how.step, policy);
  body_places const bodies(write_rows(ranks, base, policy).view(), large.view(),
                           write_rows(ranks, base + 2 * how.step, policy).view());
  return row_pattern{std::move(large), bodies};
}

}  // namespace detail

/// The table of a policy: compute actions alone, before `lower`. Throws `weft::error` with the rule that the shape
/// breaks, or if the policy writes more into a row than the rank's stages have work for (while compiling: not a
/// constant), or if it says that its rows repeat and they do not. `policy` is an object where chunks and the like come
/// at run time (see schedule/fixed.hpp).
template <class Policy>
constexpr program write_table(int ranks, int micro_batches, Policy const& policy = {}) {
  if (validity const found = policy.check(ranks, micro_batches); !found.legal())
    throw error(explain(found, policy.name));
  repetition const how = repetition_of(policy, ranks, micro_batches);
  if (!how.repeats() || micro_batches <= how.first + 2 * how.step)
    return detail::write_rows(ranks, micro_batches, policy);
  detail::row_pattern const pattern = detail::pattern_of(ranks, micro_batches, how, policy);
  if (!pattern.bodies.found())
    detail::refuse_repetition(policy.name, pattern.bodies.differing, how.base_of(micro_batches));
  program repeated = pattern.repeat(micro_batches);
  if (!std::is_constant_evaluated()) {
    program const written = detail::write_rows(ranks, micro_batches, policy);
    for (int rank = 0; rank < ranks; ++rank)
      if (!detail::same_row(written.view().row(rank), repeated.view().row(rank)))
        detail::refuse_repetition(policy.name, rank, micro_batches);
  }
  return repeated;
}

}  // namespace weft::inline v1::schedule
