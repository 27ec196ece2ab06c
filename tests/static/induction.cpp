// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Large plans, and plans whose count comes later, are proved by induction; those that do not repeat, directly.

#include <weft/plan/all.hpp>

using namespace weft;

using large = plan<schedule::one_f_one_b, pipeline_ranks<4>, micro_batches<4096>>;
static_assert(large::proved_by_induction);
static_assert(large::report.micro_batches == 4096 && large::report.peak_activations == 4);
static_assert(large::report.actions == 4096 * (4 * 2 + 6 * 2) + 4 * 2 + 2);  // F, B, posts; NORM, STEP; tied gradients
static_assert(large::sample().micro_batches < 10 && large::sample().slots[0].activation == 4);

using split = plan<schedule::zero_bubble_h1, pipeline_ranks<4>, micro_batches<1000>, schedule::recompute::full>;
static_assert(split::proved_by_induction && split::report.peak_activations == 4 && split::report.peak_in_flight == 4);

using few = plan<schedule::one_f_one_b, pipeline_ranks<4>, micro_batches<5>>;
static_assert(!few::proved_by_induction && few::sample().micro_batches == 5);

using all_at_once = plan<schedule::gpipe, pipeline_ranks<2>, micro_batches<16>>;
static_assert(!all_at_once::proved_by_induction);

template <class Schedule, int Ranks>
using counted_later = plan<Schedule, pipeline_ranks<Ranks>, micro_batches<dynamic>>;
static_assert(counted_later<schedule::one_f_one_b, 4>::proved_for_all_micro_batches);
static_assert(counted_later<schedule::zero_bubble_h1, 3>::proved_for_all_micro_batches);
static_assert(counted_later<schedule::serial, 1>::proved_for_all_micro_batches);
static_assert(!counted_later<schedule::gpipe, 3>::proved_for_all_micro_batches);

// A plan that is held to queues in the order of issue has its receives posted at use, and plays under every model.
template <schedule::send_model Model>
using held = plan<schedule::zero_bubble_v, pipeline_ranks<2>, micro_batches<5>, held_to<Model>>;
using queued = held<schedule::send_model::in_issue_order>;
static_assert(queued::options.receives == schedule::receive_time::at_use &&
              queued::report.order == schedule::accumulation::ascending);
static_assert(schedule::play(queued::view(), schedule::send_model::rendezvous).playable());
static_assert(schedule::play(queued::view(), schedule::send_model::blocking).playable());
static_assert(!queued::proved_for_all_micro_batches &&
              held<schedule::send_model::rendezvous>::proved_for_all_micro_batches);
static_assert(held<schedule::send_model::blocking>::report.micro_batches == 5);
