// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/checked_program.hpp>
#include <weft/schedule/csv.hpp>
#include <weft/schedule/detail/played.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/table.hpp>
#include <weft/schedule/validity.hpp>

#include <cstddef>
#include <string_view>

namespace weft::inline v1::schedule {

/// A text as a template argument: what `custom<"...">` is given.
template <std::size_t Size>
struct table_text {
  char letters[Size] = {};

  // NOLINTNEXTLINE(google-explicit-constructor): written as a string literal
  constexpr table_text(char const (&from)[Size]) {
    for (std::size_t index = 0; index < Size; ++index) letters[index] = from[index];
  }
  [[nodiscard]] constexpr std::string_view view() const { return {letters, Size - 1}; }
};

/// A table of the user's own, in the grammar of schedule/csv.hpp (PyTorch's), as a policy: one line per rank, read and
/// proved while compiling like any other. Passes alone count; what else the text holds is written anew.
///
///     using order = custom<"0F0,0F1,0B0,0B1\n"
///                          "1F0,1B0,1F1,1B1\n">;
///     using plan = weft::plan<order, weft::pipeline_ranks<2>, weft::micro_batches<2>>;
///
/// It has the ranks and micro-batches of its table, and no others; stages live where their rows are, and ranks may have
/// differently many. `Copies`: 2 where micro-batches of the second half belong to a second copy of the model.
///
/// * peak activations, idle time: by playing the table
///
/// Use it for an order that no policy has. The same text read when the program starts: `make_custom_program`.
template <table_text Text, int Copies = 1>
struct custom {
 private:
  static constexpr csv_options options{.copies = Copies, .name = "custom"};
  static constexpr csv_fault fault = parse_csv(Text.view(), options).problem.what;
  static_assert(fault == csv_fault::none,
                "weft::schedule::custom: the text is not a table; csv_fault says why, and read_csv(text) says where");

  static constexpr table_size size = [] {
    csv_result const read = parse_csv(Text.view(), options);
    return read.problem.ok() ? size_of(read.table.view()) : table_size{1, 1, 1, 0, 0};
  }();
  static constexpr table<size> content = [] {
    csv_result const read = parse_csv(Text.view(), options);
    return read.problem.ok() ? freeze<size>(read.table.view()) : table<size>{};
  }();
  static constexpr bool has(op what) {
    for (action const& each : content.actions)
      if (each.what == what) return true;
    return false;
  }

 public:
  static constexpr char const* name = "custom";
  static constexpr int chunks = (size.stages + size.ranks - 1) / size.ranks;  ///< the most, where ranks share evenly
  static constexpr bool splits_backward = has(op::backward_input);
  static constexpr work_set work = content.work;

  struct placement {
    static constexpr int copies = Copies;
    [[nodiscard]] static constexpr int rank_of(int stage, int copy, int ranks) {
      int const rank = content.rank_of_stage[copy * size.stages + stage];
      return rank < ranks ? rank : 0;
    }
  };

  [[nodiscard]] static constexpr int stages(int /*ranks*/) { return size.stages; }

  /// The table's own ranks and micro-batches.
  [[nodiscard]] static constexpr validity check(int ranks, int micro_batches) {
    if (ranks != size.ranks) return {rule::needs_the_tables_ranks, ranks, size.ranks};
    if (micro_batches != content.micro_batches)
      return {rule::needs_the_tables_micro_batches, micro_batches, content.micro_batches};
    return {};
  }

  template <class Writer>
  static constexpr void write_row(int rank, int /*ranks*/, int /*micro_batches*/, Writer& put) {
    for (int index = content.row_begin[rank]; index < content.row_begin[rank + 1]; ++index) {
      action const& cell = content.actions[index];
      if (traits_of(cell.what).is_compute && cell.what != op::recompute)
        put(cell.what, cell.stage, static_cast<int>(cell.micro_batch), cell.copy, cell.part);
    }
  }

  /// In micro-batches of one stage, over all stages of the rank.
  [[nodiscard]] static constexpr int peak_activations(int rank, int ranks, int micro_batches) {
    return detail::played_peak(custom{}, rank, ranks, micro_batches);
  }

  /// The most that a rank idles against the makespan, in the unit of the durations (of one stage), no time for hops.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double input,
                                             double weight) {
    return detail::played_idle(custom{}, ranks, micro_batches, forward, input, weight);
  }

  /// With the halves of `backward` equally long.
  [[nodiscard]] static constexpr double idle(int ranks, int micro_batches, double forward, double backward) {
    return idle(ranks, micro_batches, forward, backward / 2, backward / 2);
  }
};

/// The same for a text that comes when the program starts (a CSV file's content): read, checked, lowered and played.
/// Throws `weft::error` naming row, column and cell, or with the verdict.
inline program make_custom_program(std::string_view text, lower_options const& options = {}, csv_options how = {}) {
  if (how.name == csv_options{}.name) how.name = "custom";
  return make_program(read_csv(text, how).view(), options);
}

static_assert(custom<"0F0,0B0\n1F0,1B0\n">::check(2, 1).legal() &&
              custom<"0F0,0B0\n1F0,1B0\n">::check(2, 4).nearest == 1);

}  // namespace weft::inline v1::schedule
