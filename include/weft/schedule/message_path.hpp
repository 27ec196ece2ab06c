// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/cost_model.hpp>

#include <cstdint>

/// @file
/// Links from what they are made of. A message leaves a device, crosses a wire and enters another device; one path per
/// edge of the pipeline and one per axis of the mesh, since devices of one vendor have better ways among themselves.
/// Units as in cost_model.hpp. Nothing here communicates.

namespace weft::inline v1::schedule {

/// One part of a path. It carries one piece at a time; the next follows when `setup` and the piece's bytes are through,
/// whatever the `latency`.
struct leg {
  double bandwidth = 0.0;  ///< bytes per unit of time of one channel; 0: as much as one likes
  double latency = 0.0;    ///< of one message, however many pieces it has
  double setup = 0.0;      ///< of each piece
  int channels = 1;        ///< of one pair of ranks; a message is spread over all of them
  int sharers = 1;         ///< pairs of ranks whose messages are under way on the same channels

  /// Bytes per unit of time that one pair gets; 0: as much as one likes.
  [[nodiscard]] constexpr double rate() const { return bandwidth * channels / sharers; }
  /// How long a piece keeps the leg.
  [[nodiscard]] constexpr double taken_by(double bytes) const {
    return setup + (bandwidth > 0.0 ? bytes / rate() : 0.0);
  }
};

/// Who moves bytes between a device and the wire.
enum class mover : std::uint8_t {
  engines,  ///< copy engines or the network itself: both ranks compute meanwhile
  ranks     ///< the ranks: the source computes nothing on the first leg, the destination nothing on the last
};

/// The way of a message from one rank to another.
///
///     store and forward (piece_bytes = 0)        pieces, one behind the other
///     out   1111                                 out   1234
///     wire      1111                             wire   1234
///     in            1111                         in      1234
struct message_path {
  leg out{};   ///< from the device
  leg wire{};  ///< between the two
  leg in{};    ///< into the device
  double piece_bytes = 0.0;
  mover ends = mover::engines;

  [[nodiscard]] constexpr double pieces_of(double bytes) const {
    if (piece_bytes <= 0.0 || bytes <= piece_bytes) return 1.0;
    auto const whole = static_cast<std::int64_t>(bytes / piece_bytes);
    return static_cast<double>(whole) + (static_cast<double>(whole) * piece_bytes < bytes ? 1.0 : 0.0);
  }
};

/// A message of `bytes` over this path, as `cost` prices it. Pieces of a message are equally large.
///
/// * Engines: legs are a line of queues, so what keeps a second message waiting is the slowest leg (`transfer`), and
///   the others add to the latency.
/// * Ranks: the source is busy with the first leg, from which the wire takes piece after piece; the destination copies
///   when all has come.
constexpr link_cost link_of(message_path const& path, double bytes) {
  double const count = path.pieces_of(bytes);
  double const out = path.out.taken_by(bytes / count);
  double const wire = path.wire.taken_by(bytes / count);
  double const in = path.in.taken_by(bytes / count);
  double const latency = path.out.latency + path.wire.latency + path.in.latency;
  link_cost link;
  link.bytes = bytes;
  double taken = 0.0;
  if (path.ends == mover::ranks) {
    taken = wire > out ? count * wire - (count - 1.0) * out : wire;
    link.latency = latency;
    link.send_busy = count * out;
    link.receive_busy = count * in;
  } else {
    double slowest = wire > out ? wire : out;
    if (in > slowest) slowest = in;
    taken = count * slowest;
    link.latency = latency + out + wire + in - slowest;
  }
  if (bytes > 0.0 && taken > 0.0)
    link.bandwidth = bytes / taken;
  else
    link.latency += taken;
  return link;
}

/// From the begin of the send to where the destination can compute with it; nobody else is on the way.
constexpr double message_time(message_path const& path, double bytes) {
  link_cost const link = link_of(path, bytes);
  return link.send_busy + link.transfer() + link.latency + link.receive_busy;
}

/// A ring that reduces and scatters, or gathers, `bytes` over `ranks` ranks: ranks - 1 messages of bytes / ranks, one
/// after the other. For `cost_model::reductions` and `steps`.
constexpr double half_ring_time(double bytes, int ranks, message_path const& path) {
  return ranks > 1 ? (ranks - 1) * message_time(path, bytes / ranks) : 0.0;
}

/// A ring all-reduce: both halves.
constexpr double ring_time(double bytes, int ranks, message_path const& path) {
  return 2.0 * half_ring_time(bytes, ranks, path);
}

// 12 bytes over legs of 4, 2 and 4 bytes per unit of time: 3 + 6 + 3; in three pieces the wire alone is left, and a
// piece before and after.
static_assert(message_time({.out = {.bandwidth = 4.0}, .wire = {.bandwidth = 2.0}, .in = {.bandwidth = 4.0}}, 12.0) ==
              12.0);
static_assert(
    message_time({.out = {.bandwidth = 4.0}, .wire = {.bandwidth = 2.0}, .in = {.bandwidth = 4.0}, .piece_bytes = 4.0},
                 12.0) == 8.0);

}  // namespace weft::inline v1::schedule
