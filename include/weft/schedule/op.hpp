// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstdint>

namespace weft::inline v1::schedule {

/// What one cell of a table does. Letters as PyTorch writes them; the zero-bubble papers call `I` "B".
enum class op : std::uint8_t {
  none,              ///< an empty cell
  forward,           ///< F
  backward,          ///< B: input gradient, then weight gradient
  backward_input,    ///< I
  backward_weight,   ///< W
  recompute,         ///< R: forward again, from the kept stage input, to refill what backward needs
  forward_backward,  ///< F of one micro-batch and B of another, overlapped
  send_forward,      ///< SEND_F: a post, it does not block the row
  receive_forward,   ///< RECV_F: a post
  send_backward,     ///< SEND_B: a post
  receive_backward,  ///< RECV_B: a post
  reduce_gradient,   ///< REDUCE_GRAD: over `action::group`
  unshard,           ///< UNSHARD
  reshard,           ///< RESHARD
  norm,              ///< NORM: the global gradient norm; all ranks take part
  step,              ///< STEP: the optimizer, on one stage's parameters
  partial_norm,      ///< PARTIAL_NORM: in NORM's place, of this rank and those before it; no wait for the others
  validate           ///< VALIDATE: the step before, now that all ranks' norms are known; it may undo what came since
};

inline constexpr int op_count = static_cast<int>(op::validate) + 1;

/// Ops of a rank, not of one of its stages.
constexpr bool is_of_rank(op what) { return what == op::norm || what == op::partial_norm || what == op::validate; }

/// What an op consumes and produces; generic code asks these in place of switching over `op`.
struct op_facts {
  char const* letters;         ///< as written in a table
  bool is_compute;             ///< runs a stage
  bool is_post;                ///< posts a point-to-point message
  bool is_send;                ///< of the posts, which way
  bool is_forward_direction;   ///< of compute and posts: travels from first stage to last
  bool needs_activation;       ///< reads what F (or R) of the same stage and micro-batch kept
  bool keeps_activation;       ///< leaves behind what backward will read
  bool frees_activation;       ///< is the last reader of it
  bool needs_output_gradient;  ///< reads the gradient of the stage's output
  bool makes_input_gradient;   ///< writes the gradient of the stage's input
  bool makes_weight_gradient;  ///< adds to the stage's weight gradients
};

// clang-format off
template <op Op> inline constexpr op_facts op_traits{"", false, false, false, false, false, false, false, false, false, false};
template <> inline constexpr op_facts op_traits<op::forward>         {"F",           true,  false, false, true,  false, true,  false, false, false, false};
template <> inline constexpr op_facts op_traits<op::backward>        {"B",           true,  false, false, false, true,  false, true,  true,  true,  true };
template <> inline constexpr op_facts op_traits<op::backward_input>  {"I",           true,  false, false, false, true,  false, false, true,  true,  false};
template <> inline constexpr op_facts op_traits<op::backward_weight> {"W",           true,  false, false, false, true,  false, true,  true,  false, true };
template <> inline constexpr op_facts op_traits<op::recompute>       {"R",           true,  false, false, true,  false, true,  false, false, false, false};
template <> inline constexpr op_facts op_traits<op::forward_backward>{"OVERLAP_F_B", true,  false, false, true,  true,  true,  true,  true,  true,  true };
template <> inline constexpr op_facts op_traits<op::send_forward>    {"SEND_F",      false, true,  true,  true,  false, false, false, false, false, false};
template <> inline constexpr op_facts op_traits<op::receive_forward> {"RECV_F",      false, true,  false, true,  false, false, false, false, false, false};
template <> inline constexpr op_facts op_traits<op::send_backward>   {"SEND_B",      false, true,  true,  false, false, false, false, false, false, false};
template <> inline constexpr op_facts op_traits<op::receive_backward>{"RECV_B",      false, true,  false, false, false, false, false, false, false, false};
template <> inline constexpr op_facts op_traits<op::reduce_gradient> {"REDUCE_GRAD", false, false, false, false, false, false, false, false, false, false};
template <> inline constexpr op_facts op_traits<op::unshard>         {"UNSHARD",     false, false, false, false, false, false, false, false, false, false};
template <> inline constexpr op_facts op_traits<op::reshard>         {"RESHARD",     false, false, false, false, false, false, false, false, false, false};
template <> inline constexpr op_facts op_traits<op::norm>            {"NORM",        false, false, false, false, false, false, false, false, false, false};
template <> inline constexpr op_facts op_traits<op::step>            {"STEP",        false, false, false, false, false, false, false, false, false, false};
template <> inline constexpr op_facts op_traits<op::partial_norm>    {"PARTIAL_NORM",false, false, false, false, false, false, false, false, false, false};
template <> inline constexpr op_facts op_traits<op::validate>        {"VALIDATE",    false, false, false, false, false, false, false, false, false, false};
// clang-format on

/// `op_traits` for an op known only at run time.
constexpr op_facts const& traits_of(op which) {
  constexpr op_facts const* table[op_count] = {&op_traits<op::none>,
                                               &op_traits<op::forward>,
                                               &op_traits<op::backward>,
                                               &op_traits<op::backward_input>,
                                               &op_traits<op::backward_weight>,
                                               &op_traits<op::recompute>,
                                               &op_traits<op::forward_backward>,
                                               &op_traits<op::send_forward>,
                                               &op_traits<op::receive_forward>,
                                               &op_traits<op::send_backward>,
                                               &op_traits<op::receive_backward>,
                                               &op_traits<op::reduce_gradient>,
                                               &op_traits<op::unshard>,
                                               &op_traits<op::reshard>,
                                               &op_traits<op::norm>,
                                               &op_traits<op::step>,
                                               &op_traits<op::partial_norm>,
                                               &op_traits<op::validate>};
  return *table[static_cast<int>(which)];
}

}  // namespace weft::inline v1::schedule
