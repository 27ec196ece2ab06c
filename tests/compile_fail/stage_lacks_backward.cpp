// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: the schedule trains and the stage has no backward; give it backward

#include <weft/pipeline/boundary.hpp>
#include <weft/plan/plan.hpp>
#include <weft/plan/stage_requirements.hpp>

struct context {};
struct views {};

struct my_stage {
  weft::boundary boundary(weft::topology::edge const&) const;
  void prepare(int stage, weft::schedule::slot_counts const&);
  void forward(context&, views const& in, views& out);
};

#ifdef WEFT_TWIN
using schedule = weft::schedule::forward_only;
#else
using schedule = weft::schedule::gpipe;
#endif

using plan = weft::plan<schedule, weft::pipeline_ranks<2>, weft::micro_batches<4>>;
static_assert(weft::stage_suits_plan<plan, my_stage, context, views>());
