// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: the schedule splits the backward pass and the stage cannot; give the stage backward_input
// expect: stage_must_offer_split_backward<false, my_stage>

#include <weft/pipeline/boundary.hpp>
#include <weft/plan/plan.hpp>
#include <weft/plan/stage_requirements.hpp>

/// The weight gradient right after the input gradient, as two actions.
struct halves : weft::schedule::one_f_one_b {
  static constexpr char const* name = "halves";
  static constexpr bool splits_backward = true;

  template <class Writer>
  static constexpr void write_row(int rank, int /*ranks*/, int micro_batches, Writer& put) {
    for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch)
      put(weft::schedule::op::forward, rank, micro_batch);
    for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
      put(weft::schedule::op::backward_input, rank, micro_batch);
      put(weft::schedule::op::backward_weight, rank, micro_batch);
    }
  }
};

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

using plan = weft::plan<halves, weft::pipeline_ranks<2>, weft::micro_batches<4>>;
static_assert(weft::stage_suits_plan<plan, my_stage, context, views>());
