// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/advance.hpp>
#include <weft/schedule/detail/scan.hpp>
#include <weft/schedule/extern_schedules.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/verdict.hpp>

#include <type_traits>

namespace weft::inline v1::schedule {

namespace detail {
/// `play` of what is not a constant, where that is compiled once.
WEFT_SCHEDULES_INLINE verdict play_now(program_view const& program, send_model model, rank_figures* ranks);

constexpr verdict play_here(program_view const& program, send_model model, rank_figures* ranks) {
  scanner<> scan(program, model);
  scan.run(ranks);
  verdict found = scan.report.found;
  if (found.playable()) advance(scan, found);
  return found;
}
}  // namespace detail

/// The proof: plays a program as the ranks will, and reports the first defect or the program's figures.
///
/// 1. `scan` reads each row alone: ranges, completeness against `program.work`, F < I <= W, one post per message and
///    side, slots never taken while in use, orders of messages per edge.
/// 2. `advance` lets every rank run as far as its messages allow, again and again. Posts never block (except under
///    `send_model::blocking`); a compute action waits for its receives and for the send that last used its output
///    slot. Ranks wait for named messages only, so the order in which they are advanced does not change the result.
///
/// A table without posts is played as if every message were sent by its producer and received at once.
/// `ranks`, where given, receives figures per rank (`program.ranks()` of them). Runs while compiling, too; needs time
/// and memory proportional to the number of actions. Does not communicate.
constexpr verdict play(program_view const& program, send_model model = send_model::rendezvous,
                       rank_figures* ranks = nullptr) {
  // The same words in every source file, whether it compiles the play or not: a linker keeps one of them.
  if (!std::is_constant_evaluated()) return detail::play_now(program, model, ranks);
  return detail::play_here(program, model, ranks);
}

namespace detail {

#if defined(WEFT_DEFINES_SCHEDULES)
WEFT_SCHEDULES_INLINE verdict play_now(program_view const& program, send_model model, rank_figures* ranks) {
  return play_here(program, model, ranks);
}
#endif

/// The sizes of a program's play.
constexpr play_size play_size_of(program_view const& program) {
  play_size size;
  size.ranks = program.ranks();
  size.stages = program.stages() * program.graph.copies;
  size.edges = program.graph.edge_count;
  size.copies = program.graph.copies;
  size.degree = channels<>(program).degree;
  size.micro_batches = program.micro_batches;
  for (int which = 0; program.is_lowered && which < size.stages; ++which) {
    slot_counts const& own = program.slots[which];
    int const messages[] = {own.receive_forward, own.receive_backward, own.send_forward, own.send_backward};
    for (int const count : messages)
      if (count > size.slots) size.slots = count;
    if (own.activation > size.kept) size.kept = own.activation;
    if (own.weight_context > size.kept) size.kept = own.weight_context;
  }
  return size;
}

template <play_size Size>
constexpr scanner<fixed_store<Size>> scan_constant(program_view const& program, send_model model) {
  scanner<fixed_store<Size>> scan(program, model);
  scan.run(nullptr);
  return scan;
}

template <class Store>
constexpr verdict advance_constant(scanner<Store> const& scan) {
  verdict found = scan.report.found;
  if (found.playable()) advance(scan, found);
  return found;
}

}  // namespace detail

/// `play` of a program that is itself a constant: the same code on arrays of fixed size, in two constants, so that
/// large plans stay inside the compilers' limits (clang: a million steps per constant).
template <program_view const& Program, send_model Model = send_model::rendezvous>
struct static_play {
  static constexpr detail::play_size size = detail::play_size_of(Program);
  static constexpr detail::scanner<detail::fixed_store<size>> scanned = detail::scan_constant<size>(Program, Model);
  static constexpr verdict value = detail::advance_constant(scanned);
};

}  // namespace weft::inline v1::schedule
