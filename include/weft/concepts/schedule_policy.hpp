// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <concepts>

namespace weft::inline v1 {

namespace schedule {
class row_writer;
class table_writer;
struct validity;
struct work_set;
}  // namespace schedule

/// A schedule as a type without state; see schedule/one_f_one_b.hpp for one with all its parts.
///
/// * `name`, `work`, `chunks` (stages per rank), `splits_backward`, `placement`
/// * `check(ranks, micro_batches)` -> `schedule::validity`: which rule is broken, and the nearest legal value
/// * `write_row(rank, ranks, micro_batches, put)`: `put(op, stage, micro_batch)` for each action, in order; with two
///   copies of the model `put(op, stage, micro_batch, copy)`. A policy that must see all ranks at once has in its place
///   `write_table(ranks, micro_batches, put)`: `put(rank, op, stage, micro_batch)`
/// * `peak_activations(rank, ranks, micro_batches)`, `idle(ranks, micro_batches, forward, backward)`: the formulas of
///   its comment; tests hold them against the table
/// * where backward is split, optional: `idle(ranks, micro_batches, forward, input, weight)`
template <class Policy>
concept schedule_policy = requires(int number, double time) {
  { Policy::name } -> std::convertible_to<char const*>;
  { Policy::work } -> std::convertible_to<schedule::work_set>;
  { Policy::chunks } -> std::convertible_to<int>;
  { Policy::splits_backward } -> std::convertible_to<bool>;
  typename Policy::placement;
  { Policy::check(number, number) } -> std::same_as<schedule::validity>;
  { Policy::peak_activations(number, number, number) } -> std::convertible_to<int>;
  { Policy::idle(number, number, time, time) } -> std::convertible_to<double>;
}
&&(
    requires(schedule::row_writer& put, int number) { Policy::write_row(number, number, number, put); } ||
    requires(schedule::table_writer & put, int number) { Policy::write_table(number, number, put); });

}  // namespace weft::inline v1
