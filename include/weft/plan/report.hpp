// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/program_view.hpp>

namespace weft::inline v1 {

/// What is known of a plan before its job is queued. Flat, so that it can be a constant.
struct plan_report {
  int ranks = 0;
  int stages = 0;
  int micro_batches = 0;
  int actions = 0;               ///< of all rows, posts included
  int peak_activations = 0;      ///< micro-batches, on the heaviest rank
  int peak_in_flight = 0;        ///< the same without recompute: stage inputs kept
  int peak_weight_contexts = 0;  ///< I waiting for W, on the heaviest rank
  int largest_tag = -1;
  schedule::accumulation order = schedule::accumulation::ascending;  ///< `ascending`: equal bits with the serial run
  double idle_share = 0.0;  ///< of all ranks' time, at F = I = W = 1, B = 2 and no time for hops
};

constexpr plan_report make_report(int ranks, int stages, int micro_batches, schedule::verdict const& proof,
                                  double idle_share) {
  plan_report result;
  result.ranks = ranks;
  result.stages = stages;
  result.micro_batches = micro_batches;
  result.actions = proof.actions;
  result.peak_activations = proof.peak_activations;
  result.peak_in_flight = proof.peak_in_flight;
  result.peak_weight_contexts = proof.peak_weight_contexts;
  result.largest_tag = proof.largest_tag;
  result.order = proof.order;
  result.idle_share = idle_share;
  return result;
}

/// The report of any lowered program.
constexpr plan_report make_report(schedule::program_view const& program) {
  return make_report(program.ranks(), program.stages(), program.micro_batches, schedule::play(program),
                     schedule::cost(program).idle_share(program.ranks()));
}

}  // namespace weft::inline v1
