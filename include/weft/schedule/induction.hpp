// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/body_places.hpp>
#include <weft/schedule/detail/cut.hpp>
#include <weft/schedule/detail/scan.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/repetition.hpp>
#include <weft/schedule/verdict.hpp>
#include <weft/schedule/write_table.hpp>

#include <cstdint>

/// @file
/// One proof for every number of micro-batches.
///
/// Let a policy's rows repeat (repetition.hpp), and let `program` be its table, lowered, for some count M. If a cut
/// through the rows can be reached under rendezvous, if one body on every rank leads from it to a second cut, and if
/// the second state is the first with all micro-batches shifted by the body's, then more bodies between the cuts change
/// nothing: each of them leads from that state to the same state again, and what follows the second cut follows still.
/// So the play of M is a proof for M + step, M + 2 step, ...
///
/// * The state: how far each rank is; which passes of which micro-batches are done; which sends and receives are
/// posted;
///   what was added to each gradient last. Slots are in it without being compared: which slot an action takes is the
///   choice of `lower`, which finds one as long as no more are in use than the proof counted, and how many are in use
///   follows from the passes done and the messages posted.
/// * Rows wait for named messages only, so the order in which ranks are advanced does not matter, and a cut that can be
///   reached can be gone on from.
/// * `lower` writes a row in one pass. What it writes for an action depends on the slot counts, which are the same for
///   all these M, and on what is posted and in use at that point, which is the state again; so bodies of the table are
///   bodies of the lowered program.
/// * The figures (peaks, tags, order of accumulation) are those of M; the number of actions grows by the body's.
///
/// Makespans are not covered; `cost` plays. Nor is `in_issue_order`: its programs are played directly.
namespace weft::inline v1::schedule {

enum class induction_fault : std::uint8_t {
  none,
  does_not_repeat,  ///< the policy does not say that it repeats
  rows_differ,      ///< the rows of neighbouring counts do not differ by one body
  not_playable,     ///< the program of `micro_batches` has a defect, see `found`
  no_cut            ///< no cut leads to itself: too few micro-batches, or the body leaves something else behind
};

/// The answer for one policy, number of ranks and residue.
struct induction {
  induction_fault fault = induction_fault::does_not_repeat;
  int micro_batches = 0;  ///< the count that was played; every larger one of the same residue is proved by it
  int step = 0;
  int rank = -1;       ///< where the rows differ
  int before = -1;     ///< bodies in front of the cut, on the rank with the most
  int body = 0;        ///< actions of one body, over all ranks
  int send_slots = 0;  ///< that the program was lowered with
  verdict found = {};  ///< of the play

  [[nodiscard]] constexpr bool holds() const { return fault == induction_fault::none; }

  /// The verdict for a larger count of the same residue.
  [[nodiscard]] constexpr verdict of(int count) const {
    verdict result = found;
    result.actions += (count - micro_batches) / step * body;
    return result;
  }
};

namespace detail {

/// `program`: lowered from the table of `found`, scanned and played.
template <class Store>
constexpr induction induce(scanner<Store> const& scan, verdict const& played, body_places const& found, int base) {
  program_view const& program = scan.program;
  induction result{.fault = induction_fault::not_playable,
                   .micro_batches = program.micro_batches,
                   .step = found.step,
                   .found = played};
  if (!played.playable()) return result;
  result.fault = induction_fault::no_cut;
  int const bodies = (program.micro_batches - base) / found.step;
  cut_pair cuts(program.ranks());
  for (int tried = 0; tried < bodies; ++tried) {
    int const before_cut =
        (bodies / 2 + bodies - 1 + tried) % bodies;  // the middle first: neither filling nor draining
    if (!reach(scan, found, before_cut, cuts)) continue;
    cut_state before(program, scan.lines);
    for (int rank = 0; rank < program.ranks(); ++rank) before.see(program.row(rank), 0, cuts.first[rank]);
    cut_state after(before);
    result.body = 0;
    for (int rank = 0; rank < program.ranks(); ++rank) {
      after.see(program.row(rank), cuts.first[rank], cuts.second[rank]);
      result.body += cuts.second[rank] - cuts.first[rank];
    }
    if (!before.leads_to(after, found.step)) continue;
    result.fault = induction_fault::none;
    result.before = before_cut;
    return result;
  }
  return result;
}

}  // namespace detail

/// The smallest count of the same residue as `micro_batches` that can have a cut: bodies for the receives that are
/// posted ahead, and for every send slot to be used again.
constexpr int first_count(int micro_batches, repetition how, lower_options const& options) {
  int const bodies = (options.receive_ahead + options.send_slots + how.step - 1) / how.step + 1;
  return how.base_of(micro_batches) + how.step * bodies;
}

/// One attempt with one count: lowers the policy's table, plays it, and looks for a cut.
template <class Policy>
constexpr induction induce(int ranks, int micro_batches, lower_options options, Policy const& policy = {}) {
  repetition const how = repetition_of(policy, ranks, micro_batches);
  if (!how.repeats() || micro_batches < how.first + how.step) return {};
  detail::row_pattern const pattern = detail::pattern_of(ranks, micro_batches, how, policy);
  detail::body_places const& bodies = pattern.bodies;
  induction result{.fault = induction_fault::rows_differ,
                   .micro_batches = micro_batches,
                   .step = how.step,
                   .rank = bodies.differing};
  if (!bodies.found()) return result;
  program const table = pattern.repeat(micro_batches);
  program const lowered = lower_once(table.view(), options);
  detail::scanner<> scan(lowered.view(), send_model::rendezvous);
  scan.run(nullptr);
  verdict found = scan.report.found;
  if (found.playable()) detail::advance(scan, found);
  if (int const slots = options.send_slots; found.what == defect::deadlock) {
    (void)lower_for(table.view(), options, send_model::rendezvous, found);
    if (options.send_slots != slots) return induce(ranks, micro_batches, options, policy);
  }
  result = detail::induce(scan, found, bodies, how.base_of(micro_batches));
  result.send_slots = options.send_slots;
  return result;
}

/// A few counts of the residue of `micro_batches`, beginning with the smallest that can have a cut, until one has.
template <class Policy>
constexpr induction find_induction(int ranks, int micro_batches, lower_options const& options,
                                   Policy const& policy = {}) {
  repetition const how = repetition_of(policy, ranks, micro_batches);
  if (!how.repeats()) return {};
  int count = first_count(micro_batches, how, options);
  induction result = induce(ranks, count, options, policy);
  for (int tries = 1; tries < 4 && result.fault == induction_fault::no_cut; ++tries)
    result = induce(ranks, count += how.step, options, policy);
  return result;
}

}  // namespace weft::inline v1::schedule
