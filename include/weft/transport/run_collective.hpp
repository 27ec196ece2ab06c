// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/wait.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace weft::inline v1::transport {

namespace detail {

inline constexpr int collective_tag = 32000;  // above every edge's tag and every tied parameter's

inline void settle(endpoint& door, request& posted, double deadline, char const* what) {
  wait(door, posted, deadline, [&] {
    throw error(std::string("weft::transport: ") + what + ": rank " + std::to_string(door.rank()) + " waited " +
                    std::to_string(deadline) + " s for another rank; it is slow, stopped, or skipped the collective",
                {.rank = door.rank()});
  });
}

}  // namespace detail

/// `everything[r]` = rank r's `bytes` at `mine`, on every rank. Collective; ring, size - 1 steps.
inline void all_gather(endpoint& door, void const* mine, std::size_t bytes, void* everything, double deadline = 300.0) {
  int const ranks = door.size();
  int const rank = door.rank();
  auto* const out = static_cast<std::byte*>(everything);
  std::memcpy(out + bytes * static_cast<std::size_t>(rank), mine, bytes);
  for (int step = 0; step < ranks - 1; ++step) {
    auto const from = static_cast<std::size_t>((rank - step + ranks) % ranks);
    auto const into = static_cast<std::size_t>((rank - step - 1 + ranks) % ranks);
    request receive = door.receive(out + bytes * into, bytes, (rank - 1 + ranks) % ranks, detail::collective_tag);
    request send = door.send(out + bytes * from, bytes, (rank + 1) % ranks, detail::collective_tag);
    detail::settle(door, receive, deadline, "all_gather");
    detail::settle(door, send, deadline, "all_gather");
  }
}

/// `data` of `root` on every rank. Collective; binomial tree.
inline void broadcast(endpoint& door, void* data, std::size_t bytes, int root, double deadline = 300.0) {
  int const ranks = door.size();
  int const place = (door.rank() - root + ranks) % ranks;
  for (int span = 1; span < ranks; span *= 2) {
    if (place < span && place + span < ranks) {
      request send = door.send(data, bytes, (place + span + root) % ranks, detail::collective_tag + 1);
      detail::settle(door, send, deadline, "broadcast");
    } else if (place >= span && place < 2 * span) {
      request receive = door.receive(data, bytes, (place - span + root) % ranks, detail::collective_tag + 1);
      detail::settle(door, receive, deadline, "broadcast");
    }
  }
}

/// values[i] = sum over ranks, added in rank order from the left, on every rank. Collective; for short vectors.
inline void all_reduce_sum(endpoint& door, double* values, std::size_t count, double deadline = 300.0) {
  auto const ranks = static_cast<std::size_t>(door.size());
  if (ranks == 1 || count == 0) return;
  std::vector<double> everything(ranks * count);
  all_gather(door, values, count * sizeof(double), everything.data(), deadline);
  for (std::size_t index = 0; index < count; ++index) {
    double sum = everything[index];
    for (std::size_t rank = 1; rank < ranks; ++rank) sum += everything[rank * count + index];
    values[index] = sum;
  }
}

}  // namespace weft::inline v1::transport
