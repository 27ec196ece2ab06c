// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>

#include <cstdint>

namespace weft::inline v1::collective {

/// What a receiver does with a message.
enum class arrival : std::uint8_t {
  copy,  ///< replaces its chunk
  add    ///< adds it to its chunk: own + received, in this order
};

/// One message. All steps of a round are posted together and read what the rounds before left behind.
struct step {
  int round = 0;
  int from = 0;
  int to = 0;
  int chunk = 0;
  arrival what = arrival::copy;

  friend constexpr bool operator==(step const&, step const&) = default;
};

/// A collective as data: run over endpoints by transport/run_collective.hpp, checked by check.hpp, and the same on
/// every rank. Steps are ordered by round. A buffer is cut into `chunks` pieces, see `chunk_begin`.
struct step_list {
  int ranks = 0;
  int chunks = 0;
  int rounds = 0;
  detail::buffer<step> steps;

  [[nodiscard]] constexpr int size() const { return steps.size(); }
};

/// Bytes of one message when a list is run (transport/running_collective.hpp): small enough that adding one overlaps
/// with moving the next, large enough that its handshake, for which both ranks must be running, does not count
/// (measured: docs/collectives.md). And how many may have arrived and wait to be added. Here, since plans count them.
inline constexpr std::int64_t segment_bytes = std::int64_t{1} << 20;
inline constexpr int scratch_segments = 4;

/// First element of a chunk, of `elements` in all; sizes differ by at most one, larger first, and may be 0.
constexpr std::int64_t chunk_begin(std::int64_t elements, int chunks, int chunk) {
  std::int64_t const base = elements / chunks;
  std::int64_t const rest = elements % chunks;
  return base * chunk + (chunk < rest ? chunk : rest);
}

}  // namespace weft::inline v1::collective
