// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pure core while compiling: what a plan promises is a constant.

#include <weft/collective/all.hpp>
#include <weft/plan/all.hpp>
#include <weft/schedule/all.hpp>
#include <weft/topology/all.hpp>

namespace {

using namespace weft;

// --- policies satisfy their concept ----------------------------------------------------------------------------------
static_assert(schedule_policy<schedule::serial> && schedule_policy<schedule::gpipe>);
static_assert(schedule_policy<schedule::one_f_one_b> && schedule_policy<schedule::forward_only>);
static_assert(schedule_policy<schedule::zero_bubble_h1>);
static_assert(schedule_policy<schedule::zero_bubble_auto<>> && schedule_policy<schedule::latency_aware<>>);
static_assert(!schedule_policy<int> && !schedule_policy<no_optimizer>);

// --- formulas against tables, for a few shapes (the unit tests sweep them) -------------------------------------------
template <class Policy, int Ranks, int Count>
constexpr bool formulas_hold() {
  schedule::program const table = schedule::write_table<Policy>(Ranks, Count);
  schedule::rank_figures figures[Ranks] = {};
  if (!schedule::play(table.view(), schedule::send_model::rendezvous, figures).playable()) return false;
  for (int rank = 0; rank < Ranks; ++rank)
    if (figures[rank].peak_activations != Policy::peak_activations(rank, Ranks, Count)) return false;
  double const backward = Policy::work.backward ? 2.0 : 0.0;
  return schedule::cost(table.view()).idle_most == Policy::idle(Ranks, Count, 1.0, backward);
}
static_assert(formulas_hold<schedule::serial, 1, 3>());
static_assert(formulas_hold<schedule::gpipe, 3, 5>() && formulas_hold<schedule::gpipe, 4, 2>());
static_assert(formulas_hold<schedule::one_f_one_b, 3, 5>() && formulas_hold<schedule::one_f_one_b, 4, 2>());
static_assert(formulas_hold<schedule::zero_bubble_h1, 3, 5>() && formulas_hold<schedule::zero_bubble_h1, 4, 2>());
static_assert(formulas_hold<schedule::interleaved_1f1b<2>, 3, 7>() &&
              formulas_hold<schedule::interleaved_1f1b<3, 4>, 3, 8>());
static_assert(formulas_hold<schedule::eager_1f1b, 3, 7>() && formulas_hold<schedule::breadth_first<2>, 2, 3>());
static_assert(formulas_hold<schedule::interleaved_zero_bubble<2>, 2, 3>() &&
              formulas_hold<schedule::zero_bubble_h2, 3, 6>());
static_assert(formulas_hold<schedule::zero_bubble_v, 2, 4>() && formulas_hold<schedule::v_half, 2, 2>());
static_assert(formulas_hold<schedule::v_min, 2, 2>() && formulas_hold<schedule::wave<1>, 2, 2>());
static_assert(formulas_hold<schedule::dual_pipe, 2, 4>() && formulas_hold<schedule::dual_pipe_v, 2, 4>() &&
              formulas_hold<schedule::chimera, 2, 4>());
static_assert(formulas_hold<schedule::one_f_one_b, 5, 5>() && formulas_hold<schedule::forward_only, 3, 4>());

// --- plans -----------------------------------------------------------------------------------------------------------
using training = plan<schedule::one_f_one_b, pipeline_ranks<4>, micro_batches<16>>;
static_assert(training::report.peak_activations <= 4);
static_assert(training::report.micro_batches == 16 && training::report.ranks == 4 && training::report.stages == 4);
static_assert(training::report.largest_tag <= schedule::tags::largest_edge);
static_assert(training::view().row(0).size > 0 && training::view().is_lowered);
static_assert(plan<schedule::gpipe, pipeline_ranks<2>, micro_batches<8>>::report.peak_activations == 8);
static_assert(plan<schedule::gpipe, pipeline_ranks<2>, micro_batches<8>, schedule::recompute::full>::report
                  .peak_activations == 1);
using zero_bubble = plan<schedule::zero_bubble_h1, pipeline_ranks<4>, micro_batches<8>>;
static_assert(zero_bubble::report.peak_activations == 4 && zero_bubble::report.peak_weight_contexts == 4);
static_assert(zero_bubble::report.idle_share == 3.0 / 27.0 && zero_bubble::splits_backward);
using two_copies = plan<schedule::dual_pipe, pipeline_ranks<2>, micro_batches<4>>;
static_assert(two_copies::report.stages == 2 && two_copies::report.peak_activations == 3);
using in_waves = plan<schedule::wave<2>, pipeline_ranks<2>, micro_batches<2>>;
static_assert(in_waves::report.stages == 8 && in_waves::report.peak_activations <= 8);
using interleaved = plan<schedule::interleaved_1f1b<2>, pipeline_ranks<4>, micro_batches<8>>;
static_assert(interleaved::report.stages == 8 && interleaved::report.peak_activations == 11);
static_assert(interleaved::report.idle_share == 9.0 / 57.0);
static_assert(zero_bubble::report.order == schedule::accumulation::ascending);
static_assert(plan<schedule::zero_bubble_h1, pipeline_ranks<4>, micro_batches<2>>::report.peak_activations == 2);
static_assert(plan<schedule::serial, pipeline_ranks<1>, micro_batches<8>>::report.idle_share == 0.0);
static_assert(plan<schedule::forward_only, pipeline_ranks<3>, micro_batches<2>>::report.idle_share == 0.5);

using made_to_measure = plan<schedule::zero_bubble_auto<7>, pipeline_ranks<4>, micro_batches<8>>;
static_assert(made_to_measure::report.idle_share == 3.0 / 27.0 && made_to_measure::report.peak_activations <= 7);
using for_far_ranks =
    plan<schedule::latency_aware<0, schedule::costs<1, 1, 1, 3>>, pipeline_ranks<2>, micro_batches<5>>;
static_assert(schedule::cost(for_far_ranks::view(), {.hop = 3.0}).makespan == 19.0);
using chosen = plan<schedule::automatic<schedule::activation_limit<3>>, pipeline_ranks<3>, micro_batches<4>>;
static_assert(chosen::known_while_compiling && chosen::report.micro_batches == 4);

// --- every send model that a chain of posts survives -----------------------------------------------------------------
static_assert(schedule::play(training::view(), schedule::send_model::rendezvous).playable());
static_assert(schedule::play(training::view(), schedule::send_model::buffered).playable());
static_assert(schedule::play(training::view(), schedule::send_model::blocking).what == schedule::defect::deadlock);

// --- messages come from the same source as tags ----------------------------------------------------------------------
static_assert(schedule::message_tag(2, true, 0, 3) == 4 && schedule::message_tag(2, false, 0, 3) == 5);
static_assert(schedule::message_tag(0, true, 1, 3) == 6);
static_assert(schedule::tie_tag(0, 0) == 30000 && schedule::tie_tag(2, 3) == 30035);
static_assert(schedule::tags::largest_edge == 29999 && schedule::tags::groups == 118);
static_assert(schedule::tie_tag(schedule::tags::groups - 1, 15) < schedule::tags::state);

// --- vendors ---------------------------------------------------------------------------------------------------------
using two_by_two = mesh<axis<data_axis, 2>, axis<pipeline_axis, 2>>;
using along_pipeline = plan<schedule::one_f_one_b, micro_batches<4>, two_by_two,
                            rank_vendors<vendor::cuda, vendor::hip, vendor::cuda, vendor::hip>>;
static_assert(along_pipeline::vendors::is_mixed && along_pipeline::vendors::values[1] == vendor::hip);
static_assert(!along_pipeline::mixes_over_data);
using over_data = plan<schedule::one_f_one_b, micro_batches<4>, two_by_two, allow_mixed<data_axis>,
                       rank_vendors<vendor::cuda, vendor::cuda, vendor::hip, vendor::hip>>;
static_assert(over_data::vendors::is_mixed && over_data::mixes_over_data);
using of_one = plan<schedule::gpipe, micro_batches<4>, pipeline_ranks<2>, rank_vendors<vendor::hip, vendor::hip>>;
static_assert(of_one::vendors::ranks == 2 && !of_one::vendors::is_mixed);
// The order of the ranks decides who is beside whom.
using data_fastest = mesh<axis<pipeline_axis, 2>, axis<data_axis, 2>>;
static_assert(plan_detail::forbidden_boundary<data_fastest, along_pipeline::vendors, allow_mixed<>>().other == 1);
static_assert(plan_detail::forbidden_boundary<data_fastest, over_data::vendors, allow_mixed<>>().other == -1);

}  // namespace
