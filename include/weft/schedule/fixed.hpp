// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/repetition.hpp>
#include <weft/schedule/validity.hpp>

#include <type_traits>

namespace weft::inline v1::schedule {

/// A schedule with parameters exists twice: as an object whose members are set when the program starts, and as a policy
/// whose members are template arguments. `fixed` makes the second of the first, so that every rule and formula is
/// written once.
///
///     struct example_values { int chunks = 2; constexpr validity check(int ranks, int micro_batches) const; ... };
///     template <int Chunks> struct example : fixed<example_values{Chunks}> {};
///     write_table(ranks, micro_batches, example_values{chunks});   // the same table as
///     write_table<example<2>>(ranks, micro_batches);               // this, where chunks is 2
template <auto Values>
struct fixed {
  using values = std::remove_cvref_t<decltype(Values)>;  // nvcc calls it a reference to const
  using placement = typename values::placement;
  static constexpr char const* name = Values.name;
  static constexpr int chunks = Values.chunks;
  static constexpr bool splits_backward = Values.splits_backward;
  static constexpr work_set work = Values.work;

  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    return Values.check(ranks, micro_batches);
  }
  template <class Writer>
    requires requires(values const& self, Writer& put) { self.write_row(0, 0, 0, put); }
  static constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) {
    Values.write_row(rank, ranks, micro_batches, put);
  }
  template <class Writer>
    requires requires(values const& self, Writer& put) { self.write_table(0, 0, put); }
  static constexpr void write_table(int ranks, int micro_batches, Writer& put) {
    Values.write_table(ranks, micro_batches, put);
  }
  [[nodiscard]] static constexpr work_set work_on(int ranks) requires requires(values const& self) { self.work_on(0); }
  { return Values.work_on(ranks); }
  [[nodiscard]] static constexpr int steps_of(int ranks, int micro_batches) requires requires(values const& self) {
    self.steps_of(0, 0);
  }
  { return Values.steps_of(ranks, micro_batches); }
  [[nodiscard]] static constexpr int weight_versions(int rank, int ranks) requires requires(values const& self) {
    self.weight_versions(0, 0);
  }
  { return Values.weight_versions(rank, ranks); }
  [[nodiscard]] static constexpr int oldest_read(int ranks) requires requires(values const& self) {
    self.oldest_read(0);
  }
  { return Values.oldest_read(ranks); }
  [[nodiscard]] static constexpr repetition repeats(int ranks, int micro_batches) {
    return repetition_of(Values, ranks, micro_batches);
  }
  [[nodiscard]] static constexpr int peak_activations(int rank, int ranks, int micro_batches) {
    return Values.peak_activations(rank, ranks, micro_batches);
  }
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double backward) {
    return Values.idle(ranks, micro_batches, forward, backward);
  }
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double input,
                                             double weight) requires(Values.splits_backward) {
    return Values.idle(ranks, micro_batches, forward, input, weight);
  }
};

}  // namespace weft::inline v1::schedule
