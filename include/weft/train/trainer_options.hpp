// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/all_reduce.hpp>
#include <weft/config.hpp>
#include <weft/execution/math_mode.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/token_batch.hpp>
#include <weft/plan/precision.hpp>
#include <weft/plan/rank_capacities.hpp>
#include <weft/schedule/lower_options.hpp>
#include <weft/topology/mesh.hpp>
#include <weft/topology/partition.hpp>
#include <weft/train/adamw.hpp>
#include <weft/train/learning_rate.hpp>
#include <weft/train/loss_scale.hpp>
#include <weft/train/start.hpp>
#include <weft/transport/card.hpp>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

/// When a rank of a post-validated trainer steps before it knows whether all ranks may.
enum class speculation : std::uint8_t {
  while_unclipped,  ///< unless the last step was clipped or skipped: then the next one probably is, and waits
  always            ///< and pays for every step that is clipped with a second warm-up
};

/// Whether gradients of activations pass through float16: in layers, or in messages between stages.
template <class Real>
inline constexpr bool has_float16 = std::is_same_v<typename precision_of<Real>::compute, float16> ||
                                    std::is_same_v<typename precision_of<Real>::wire, float16>;

struct trainer_options {
  model::extents extents{};  ///< the largest micro-batch that will ever come
  adamw optimizer{};
  warmup_cosine learning_rate{};
  double clip = 1.0;                                 ///< largest global gradient norm; 0: no clipping
  std::uint64_t seed = 1;                            ///< of the initial weights
  double dropout = 0.0;                              ///< share of activations dropped while training
  loss_scaling scaling{};                            ///< of the loss; dynamic where gradients are float16
  blas::math_mode products = blas::math_mode::full;  ///< of floats, on devices
  double deadline = 300.0;                           ///< seconds that one wait may take
  bool capture = false;                              ///< devices replay recorded calls (docs/devices.md); same bits
  bool record_times = false;                         ///< keep when every action of the last step ran
  std::vector<topology::layer_range> partition{};    ///< layers of each stage; empty: balanced by cost
  rank_capacities capacities{};                      ///< of pipeline ranks that are not alike; read to balance
  collective::all_reduce_choice reduction{};         ///< how gradients are summed over the data axis; the ring at first
  int gradient_groups = 1;           ///< on one data rank: sums kept apart as that many data ranks would keep them
  int compare_replicas_every = 100;  ///< steps between comparisons of the replicas' bits; 0: never
  /// post_validated: no rank waits for the others before its STEPs (schedule/passes/post_validate.hpp, and `step`);
  /// synchronous: as the program was lowered.
  schedule::norm_kind norm = schedule::norm_kind::synchronous;
  speculation speculates = speculation::while_unclipped;  ///< where steps are validated afterwards
  topology::mesh_shape mesh{};  ///< pipeline and data axis; empty: as many pipelines as the ranks make up
  std::vector<std::pair<std::string, std::string>> facts{};  ///< more that all ranks must agree on: (name, value)
  own_build build{};               ///< more in which ranks of several builds may differ: the executable
  transport::mixed_rules mixed{};  ///< whether ranks of several builds and vendors may train together
};

}  // namespace weft::inline v1::train
