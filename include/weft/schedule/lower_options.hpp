// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/verdict.hpp>

#include <cstdint>

namespace weft::inline v1::schedule {

/// Which stages hold parameters that other stages hold too, and so take part in a REDUCE_GRAD.
enum class tied_stages : std::uint8_t { none, first_and_last };

/// How a rank learns the gradient norm that decides about its STEPs.
enum class norm_kind : std::uint8_t {
  synchronous,    ///< NORM: all ranks wait for the last one
  post_validated  ///< PARTIAL_NORM and VALIDATE: no rank waits, and what was wrong is undone (passes/post_validate.hpp)
};

/// When a receive is posted.
enum class receive_time : std::uint8_t {
  early,  ///< as soon as a slot is free: hides hops best, and fits transports that match by tag (MPI)
  at_use  ///< just before its use: fits queues that run in the order of issue (NCCL), and posts that block
};

/// What a program must be lowered for to play under a send model.
constexpr receive_time receives_under(send_model model) {
  return model == send_model::in_issue_order || model == send_model::blocking ? receive_time::at_use
                                                                              : receive_time::early;
}

struct lower_options {
  bool recompute = false;                          ///< R before each B or I; F keeps nothing but the stage's input
  tied_stages tied = tied_stages::first_and_last;  ///< who gets a REDUCE_GRAD (training programs only)
  bool optimizer = true;                           ///< NORM and STEP at the end (training programs only)
  bool reduce_over_data = false;                   ///< REDUCE_GRAD after each stage's last backward (training only)
  bool reduce_over_copies = false;                 ///< the same among the copies of the model, where there are two
  int send_slots = 2;                              ///< output buffers per direction of an edge, to begin with
  int receive_ahead = 1;                           ///< forward receives posted beyond the micro-batches in flight
  receive_time receives = receive_time::early;
  norm_kind norm = norm_kind::synchronous;  ///< training programs with an optimizer only
};

}  // namespace weft::inline v1::schedule
