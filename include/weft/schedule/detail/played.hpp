// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/write_table.hpp>

namespace weft::inline v1::schedule::detail {

/// Idle time of a policy's table by playing it, for shapes that have no closed form. Every rank has equally much to do.
template <class Policy>
constexpr double played_idle(Policy const& policy, int ranks, int micro_batches, double forward, double input,
                             double weight) {
  cost_model model;
  model.every.forward = forward;
  model.every.backward_input = input;
  model.every.backward_weight = weight;
  return cost(write_table(ranks, micro_batches, policy).view(), model).idle_most;
}

/// The same for peak activations.
template <class Policy>
constexpr int played_peak(Policy const& policy, int rank, int ranks, int micro_batches) {
  weft::detail::buffer<rank_figures> figures(ranks);
  play(write_table(ranks, micro_batches, policy).view(), send_model::rendezvous, figures.data());
  return figures[rank].peak_activations;
}

}  // namespace weft::inline v1::schedule::detail
