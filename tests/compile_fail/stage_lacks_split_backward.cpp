// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: the schedule splits the backward pass and the stage cannot; give the stage backward_input
// expect: stage_must_offer_split_backward<false, my_stage>

#include <weft/pipeline/boundary.hpp>
#include <weft/plan/plan.hpp>
#include <weft/plan/stage_requirements.hpp>

struct context {};
struct views {};

struct my_stage {
  weft::boundary boundary(weft::topology::edge const&) const;
  void prepare(int stage, weft::schedule::slot_counts const&);
  void forward(context&, views const& in, views& out);
#ifdef WEFT_TWIN
  void backward_input(context&, views const& in, views const& gradient_out, views& gradient_in);
  void backward_weight(context&, views const& in, views const& gradient_out);
#else
  void backward(context&, views const& in, views const& gradient_out, views& gradient_in);
#endif
};

using plan = weft::plan<weft::schedule::zero_bubble_h1, weft::pipeline_ranks<2>, weft::micro_batches<4>>;
static_assert(weft::stage_suits_plan<plan, my_stage, context, views>());
