// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/detail/asynchronous_row.hpp>
#include <weft/schedule/detail/played.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/shape.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/topology/placement.hpp>

#include <numeric>

namespace weft::inline v1::schedule {

namespace detail {

struct one_replica_each {
  int data[255] = {};
  constexpr one_replica_each() {
    for (int& each : data) each = 1;
  }
};
inline constexpr one_replica_each one_each;

}  // namespace detail

/// PipeDream with replicated stages (1F1B-RR): stage s is on q_s ranks, which take its minibatches in turn: minibatch k
/// is with rank k mod q_s of each stage's group ("round robin"), forward and backward. A balanced pipeline of stages
/// that are not equally long.
///
///     stage 0, rank 0  F0 F2 B0 S F4 B2 S F6 B4 S ...      q = 2 1; S: STEP, with the gradients of the q_s ranks
///              rank 1  F1 F3 B1 S F5 B3 S F7 B5 S ...
///     stage 1, rank 2  F0 B0 S F1 B1 S F2 B2 S F3 ...
///
/// * warm-up of a rank of stage s: w_s = floor((p - 1 - ranks of the stages before) / q_s) of its own minibatches
/// * weights: w_s + 1 versions; the i-th minibatch of a rank reads version max(0, i - w_s), forward and backward
/// * peak activations: min(w_s + 1, M / q_s) minibatches
/// * the ranks of a stage add their gradients up at every STEP, which is one for q_s minibatches
/// * idle time has no closed form (`idle` plays the table)
///
/// Each rank of a group is drawn as a copy of its stage; there are as many copies as routes through the pipeline, the
/// least common multiple of the q_s, and minibatches must be a multiple of it. Proved, priced and drawn; the engine,
/// which knows a stage by its number, refuses ranks that hold several copies of one.
///
/// Use it to plan for stages that cannot be cut equally. Narayanan et al., PipeDream, arXiv 1806.03377, section 3.2.
struct pipedream_replicated {
  static constexpr char const* name = "pipedream-replicated";
  using placement = topology::placement::replicated;
  static constexpr int chunks = 1;
  static constexpr bool splits_backward = false;
  static constexpr work_set work{.asynchronous = true};

  int const* replicas = nullptr;  ///< [stage]: q_s; null: every stage on one rank
  int replicated_stages = 0;

  [[nodiscard]] static constexpr pipedream_replicated of(shape const& chosen) {
    return {chosen.replicas, chosen.replicated_stages};
  }

  [[nodiscard]] constexpr validity check(int ranks, int micro_batches) const {
    if (validity const found = detail::check_asynchronous(ranks, micro_batches, 0, 0); !found.legal()) return found;
    int together = 0;
    for (int stage = 0; stage < stages(ranks); ++stage) {
      if (replicas_of(stage) < 1) return {rule::needs_a_replica, replicas_of(stage), 1};
      together += replicas_of(stage);
      if (together > ranks) break;
    }
    if (together != ranks) return {rule::replicas_fill_ranks, ranks, sum()};
    int const routes = copies(ranks);
    if (routes > 255) return {rule::too_many_copies, routes, 255};
    if (micro_batches % routes != 0)
      return {rule::micro_batches_multiple, micro_batches, (micro_batches + routes - 1) / routes * routes};
    return {};
  }

  [[nodiscard]] constexpr int stages(int ranks) const { return replicas == nullptr ? ranks : replicated_stages; }

  [[nodiscard]] constexpr int copies(int ranks) const {
    int routes = 1;
    for (int stage = 0; stage < stages(ranks) && routes <= 255; ++stage) routes = std::lcm(routes, replicas_of(stage));
    return routes;
  }

  [[nodiscard]] constexpr placement placed(int ranks) const {
    return {copies(ranks), replicas == nullptr ? detail::one_each.data : replicas};
  }

  /// Forwards of a rank before its first backward, in minibatches of its own.
  [[nodiscard]] constexpr int warm_up(int rank, int ranks) const {
    home const at = home_of(rank);
    return (ranks - 1 - at.first) / replicas_of(at.stage);
  }

  template <class Writer>
  constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) const {
    home const at = home_of(rank);
    int const group = replicas_of(at.stage);
    int const warm = warm_up(rank, ranks);
    int const own = micro_batches / group;
    int const routes = copies(ranks);
    auto const pass = [&](op what, int turn) {
      int const minibatch = rank - at.first + turn * group;
      put.at_version(what, at.stage, minibatch, detail::at_least_zero(turn - warm), minibatch % routes);
      return minibatch;
    };
    for (int turn = 0; turn < own + warm; ++turn) {
      if (turn < own) pass(op::forward, turn);
      if (turn < warm) continue;
      int const minibatch = pass(op::backward, turn - warm);
      put(op::step, at.stage, 0, minibatch % routes);
    }
  }

  /// Of one copy; a stage's STEPs are shared by its copies.
  [[nodiscard]] constexpr int steps_of(int /*ranks*/, int micro_batches) const { return micro_batches; }

  /// Weights that a rank keeps.
  [[nodiscard]] constexpr int weight_versions(int rank, int ranks) const { return warm_up(rank, ranks) + 1; }

  /// In minibatches of one stage.
  [[nodiscard]] constexpr int peak_activations(int rank, int ranks, int micro_batches) const {
    int const own = micro_batches / replicas_of(home_of(rank).stage);
    int const wanted = warm_up(rank, ranks) + 1;
    return wanted < own ? wanted : own;
  }

  /// The most of a rank against the makespan, in the unit of the durations, with no time for hops and STEPs.
  [[nodiscard]] constexpr double idle(int ranks, int micro_batches, double forward, double backward) const {
    return detail::played_idle(*this, ranks, micro_batches, forward, backward / 2, backward / 2);
  }

 private:
  struct home {
    int stage;
    int first;  ///< rank of the stage's group
  };

  [[nodiscard]] constexpr int replicas_of(int stage) const { return replicas == nullptr ? 1 : replicas[stage]; }

  [[nodiscard]] constexpr int sum() const {
    int together = 0;
    for (int stage = 0; stage < replicated_stages; ++stage) together += replicas[stage];
    return together;
  }

  [[nodiscard]] constexpr home home_of(int rank) const {
    home at{0, 0};
    for (; at.first + replicas_of(at.stage) <= rank; ++at.stage) at.first += replicas_of(at.stage);
    return at;
  }
};

}  // namespace weft::inline v1::schedule
