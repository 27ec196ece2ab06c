// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstdint>

/// @file
/// Durations for `cost`. All times are in one unit, whichever; bytes over bandwidth must give that unit. Arrays are not
/// owned, and null where nothing differs.

namespace weft::inline v1::schedule {

/// How long one pass of one stage takes. B takes `backward_input + backward_weight`, R takes `forward`.
struct stage_cost {
  double forward = 1.0;
  double backward_input = 1.0;
  double backward_weight = 1.0;
  double overlapped = 0.0;  ///< F of one and B of another micro-batch in one fused slot; 0: the sum of the two

  friend constexpr bool operator==(stage_cost const&, stage_cost const&) = default;
};

/// One message over one edge of the stage graph, in either direction.
struct link_cost {
  double latency = 0.0;       ///< from the moment both sides have posted to the arrival of an empty message
  double bytes = 0.0;         ///< of one boundary
  double bandwidth = 0.0;     ///< bytes per unit of time; 0: as much as one likes
  double send_busy = 0.0;     ///< time of the sending rank itself (packing, staging); it computes nothing meanwhile
  double receive_busy = 0.0;  ///< time of the receiving rank itself, before the pass that reads the message

  /// How long the wire is taken.
  [[nodiscard]] constexpr double transfer() const { return bandwidth > 0.0 ? bytes / bandwidth : 0.0; }
  friend constexpr bool operator==(link_cost const&, link_cost const&) = default;
};

/// Whether a rank computes while its message travels.
enum class transfer : std::uint8_t {
  overlaps,  ///< a post costs its row nothing but `send_busy`
  blocks     ///< a rank that sends waits until the message has arrived; receives are posted ahead all the same
};

/// Which messages queue behind each other where a transfer takes the wire for some time.
enum class wire : std::uint8_t {
  per_edge,      ///< those of one edge and direction: each pair of devices has channels of its own
  per_rank_pair  ///< those from one rank to another, in the order of their sends, as on a queue that keeps issue order
};

/// What NORM waits for, besides the reductions of its rank.
enum class norm_wait : std::uint8_t {
  all_ranks,    ///< a global norm: every rank of the pipeline
  rank_before,  ///< partial state handed down from rank to rank (post-validation): the NORM of the rank before, and a
                ///< hop
  nobody        ///< norms per stage
};

/// A rank that is slower for a while, or always: what takes one unit takes `factor` (above 0).
struct slowdown {
  int rank = 0;
  double factor = 1.0;
  double begin = 0.0;
  double end = 1e300;
};

/// Messages from one rank to another take `factor` times as long (latency and transfer) when they begin in that time.
struct slow_link {
  int source = 0;
  int destination = 0;
  double factor = 1.0;
  double begin = 0.0;
  double end = 1e300;
};

/// The default is the field's unit: F = I = W = 1, B = 2, no time for anything else.
struct cost_model {
  stage_cost every = {};               ///< of stages without an entry of their own
  stage_cost const* stages = nullptr;  ///< one per stage
  double hop = 0.0;                    ///< latency of every message between two ranks, besides the link's
  double reduce_gradient = 0.0;        ///< REDUCE_GRAD of tied parameters, once all that hold them have come
  double norm = 0.0;
  double step = 0.0;                     ///< per stage
  stage_cost const* ranks = nullptr;     ///< one per rank, for each of its stages; read where `stages` is null
  double const* rank_factors = nullptr;  ///< one per rank, on top of all: 1.1 takes ten per cent longer
  link_cost link = {};                   ///< of edges without an entry of their own
  link_cost const* links = nullptr;      ///< one per edge of the graph
  double reduce_data = 0.0;              ///< REDUCE_GRAD over the data axis, per stage; see `ring_time`
  double const* reductions = nullptr;    ///< one per stage, in place of `reduce_data`
  double const* steps = nullptr;         ///< one per stage, in place of `step`
  double unshard = 0.0;                  ///< UNSHARD and RESHARD, in the row
  slowdown const* slowdowns = nullptr;   ///< of passes and STEPs; several multiply
  int slowdown_count = 0;
  slow_link const* slow_links = nullptr;
  int slow_link_count = 0;
  transfer messages = transfer::overlaps;
  wire queue = wire::per_edge;
  norm_wait norm_waits = norm_wait::all_ranks;

  [[nodiscard]] constexpr stage_cost const& of(int stage) const { return stages != nullptr ? stages[stage] : every; }
  [[nodiscard]] constexpr stage_cost const& of(int stage, int rank) const {
    return stages == nullptr && ranks != nullptr ? ranks[rank] : of(stage);
  }
  [[nodiscard]] constexpr link_cost const& of_edge(int edge) const { return links != nullptr ? links[edge] : link; }
};

/// A ring all-reduce of `bytes` over `ranks` ranks: 2 (n - 1) messages of bytes / n, one after the other.
constexpr double ring_time(double bytes, int ranks, link_cost const& link) {
  double const messages = 2.0 * (ranks - 1);
  double const piece = link.bandwidth > 0.0 ? bytes / ranks / link.bandwidth : 0.0;
  return ranks > 1 ? messages * (link.latency + piece) : 0.0;
}

static_assert(ring_time(800.0, 4, {.latency = 1.0, .bandwidth = 100.0}) == 18.0 && ring_time(8.0, 1, {}) == 0.0);
static_assert(link_cost{.bytes = 8.0}.transfer() == 0.0);

}  // namespace weft::inline v1::schedule
