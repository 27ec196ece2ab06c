// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/plan/errors.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/table.hpp>
#include <weft/schedule/write_table.hpp>

namespace weft::inline v1 {

/// A policy's program as a constant: lowered, stored and proved while compiling, each in a constant of its own (so that
/// no single evaluation meets a compiler's limit). `view` is what engine and trainer play; nothing of it exists twice.
template <class Policy, int Ranks, int MicroBatches, bool Recompute, schedule::tied_stages Tied, bool Optimizer,
          bool ReduceOverData, schedule::send_model Model, int SendSlots = 2>
struct static_program {
  static constexpr schedule::lower_options options{.recompute = Recompute,
                                                   .tied = Tied,
                                                   .optimizer = Optimizer,
                                                   .reduce_over_data = ReduceOverData,
                                                   .send_slots = SendSlots,
                                                   .receives = schedule::receives_under(Model)};

  static constexpr schedule::table_size size = schedule::lowered_size<Policy>(Ranks, MicroBatches, options);
  static constexpr schedule::table<size> storage = schedule::freeze<size>(
      schedule::lower_once(schedule::write_table<Policy>(Ranks, MicroBatches).view(), options).view());
  static constexpr schedule::table_rows<Ranks> rows = schedule::rows_of(storage);
  static constexpr schedule::program_view view = schedule::view_of(storage, rows, Policy::name);
  static constexpr schedule::verdict proof = schedule::static_play<view, Model>::value;
};

/// The same with as many send slots as the proof needs: twice as many each time, as `lower` does.
template <class Policy, int Ranks, int MicroBatches, bool Recompute, schedule::tied_stages Tied, bool Optimizer,
          bool ReduceOverData, schedule::send_model Model, int SendSlots = 2>
struct proved_program {
  using attempt =
      static_program<Policy, Ranks, MicroBatches, Recompute, Tied, Optimizer, ReduceOverData, Model, SendSlots>;

  static constexpr auto choose() {
    if constexpr (attempt::proof.what == schedule::defect::deadlock && SendSlots < MicroBatches &&
                  schedule::play(attempt::view, schedule::send_model::buffered).playable())
      return proved_program<Policy, Ranks, MicroBatches, Recompute, Tied, Optimizer, ReduceOverData, Model,
                            schedule::more_send_slots(SendSlots, MicroBatches)>::choose();
    else
      return attempt{};
  }
  using type = decltype(choose());
};

}  // namespace weft::inline v1
