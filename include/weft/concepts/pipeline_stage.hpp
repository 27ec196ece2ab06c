// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <concepts>

namespace weft::inline v1 {

struct boundary;
namespace topology {
struct edge;
}
namespace schedule {
struct slot_counts;
}

/// The least a stage must offer. One object serves every stage of a rank (`context.stage()` says which).
///
/// * `boundary(edge)`: what crosses an edge of the graph; the same answer on both ends.
/// * `prepare(stage, slots)`: allocate; the engine calls nothing that needs memory afterwards.
/// * `forward(context, in, out)`: reads `in`, writes `out`; `in` stays valid until the last backward of the
///   micro-batch, `out` does not.
template <class Stage, class Context, class Views>
concept pipeline_stage = requires(Stage& stage, Context& context, Views const& in, Views& out,
                                  schedule::slot_counts const& slots, topology::edge const& edge) {
  { stage.boundary(edge) } -> std::convertible_to<weft::boundary>;
  stage.prepare(0, slots);
  stage.forward(context, in, out);
};

/// `backward(context, in, grad_out, grad_in)`: adds to the stage's own weight gradients, writes `grad_in`. Edges from
/// stages of a frozen prefix have no gradient and are left out of `grad_in`; they are the first ones of `in`.
template <class Stage, class Context, class Views>
concept whole_backward_stage = requires(Stage& stage, Context& context, Views const& in, Views const& grad_out,
                                        Views& grad_in) {
  stage.backward(context, in, grad_out, grad_in);
};

/// Backward in halves, as zero-bubble schedules need it. `in` and `grad_out` stay valid until `backward_weight` has
/// returned. Where a program says B, the engine calls `backward` if the stage has that too, and else both halves in
/// turn. A stage that has both owes equal bits, and may need less memory for `backward`.
template <class Stage, class Context, class Views>
concept split_backward_stage = requires(Stage& stage, Context& context, Views const& in, Views const& grad_out,
                                        Views& grad_in) {
  stage.backward_input(context, in, grad_out, grad_in);
  stage.backward_weight(context, in, grad_out);
};

/// A stage that allocates something for `backward` alone: the engine calls `prepare_backward(stage)` after `prepare`
/// where its program says B of that stage.
template <class Stage>
concept backward_preparing_stage = requires(Stage& stage) {
  stage.prepare_backward(0);
};

/// A stage that has messages of its own under way (running all-reduces, say): the engine calls `progress()` in every
/// unsuccessful turn of a wait, and whenever the stage itself calls `context.progress()`. It must not block and should
/// cost next to nothing where nothing is under way. In the first case no launch lock is held, in the second it is: it
/// launches no kernels. What it throws ends the step on every rank.
template <class Stage>
concept progressing_stage = requires(Stage& stage) {
  stage.progress();
};

}  // namespace weft::inline v1
