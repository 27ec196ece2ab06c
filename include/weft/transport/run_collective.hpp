// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/binomial_tree.hpp>
#include <weft/collective/ring.hpp>
#include <weft/collective/step_list.hpp>
#include <weft/config.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/posted.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

/// @file
/// Plays collective step lists over endpoints, in host memory. Everything that waits for all ranks outside the pipeline
/// comes through here, so it waits as the engine does: with test and yield, looking at the failure channel.

namespace weft::inline v1::transport {

inline constexpr double default_deadline = 300.0;  ///< seconds

/// Plays this rank's part of a step list on `elements` numbers at `data`. Collective over the endpoint's ranks.
template <class Number>
void run_collective(endpoint& door, collective::step_list const& list, Number* data, std::int64_t elements,
                    double deadline, char const* what) {
  int const rank = door.rank();
  auto const begin_of = [&](int chunk) { return collective::chunk_begin(elements, list.chunks, chunk); };
  auto const size_of = [&](int chunk) { return static_cast<std::size_t>(begin_of(chunk + 1) - begin_of(chunk)); };
  std::vector<Number> arrived;
  posted_messages posted(door, what, deadline);  // after the buffers, so that it goes before them
  for (int index = 0; index < list.size();) {
    int const first = index;
    int const round = list.steps[first].round;
    std::size_t to_add = 0;
    for (; index < list.size() && list.steps[index].round == round; ++index)
      if (list.steps[index].to == rank && list.steps[index].what == collective::arrival::add)
        to_add += size_of(list.steps[index].chunk);
    if (arrived.size() < to_add) arrived.resize(to_add);
    std::size_t used = 0;
    for (int each = first; each < index; ++each) {
      auto const& step = list.steps[each];
      if (step.to != rank) continue;
      Number* const into = step.what == collective::arrival::add ? arrived.data() + used : data + begin_of(step.chunk);
      if (step.what == collective::arrival::add) used += size_of(step.chunk);
      posted.receive(into, size_of(step.chunk) * sizeof(Number), step.from, schedule::tags::collective);
    }
    for (int each = first; each < index; ++each) {
      auto const& step = list.steps[each];
      if (step.from == rank)
        posted.send(data + begin_of(step.chunk), size_of(step.chunk) * sizeof(Number), step.to,
                    schedule::tags::collective);
    }
    posted.settle();
    used = 0;
    for (int each = first; each < index; ++each) {
      auto const& step = list.steps[each];
      if (step.to != rank || step.what != collective::arrival::add) continue;
      if constexpr (std::is_arithmetic_v<Number>) {
        Number* const own = data + begin_of(step.chunk);
        for (std::size_t element = 0; element < size_of(step.chunk); ++element) own[element] += arrived[used + element];
      }
      used += size_of(step.chunk);
    }
  }
}

/// `everything[r]` = the `bytes` at rank r's `mine`, on every rank. Collective; ring.
inline void all_gather(endpoint& door, void const* mine, std::size_t bytes, void* everything,
                       double deadline = default_deadline) {
  auto* const out = static_cast<std::byte*>(everything);
  std::memcpy(out + bytes * static_cast<std::size_t>(door.rank()), mine, bytes);
  run_collective(door, collective::ring::all_gather(door.size()), out, static_cast<std::int64_t>(bytes) * door.size(),
                 deadline, "all_gather");
}

/// `data` of `root` on every rank. Collective; binomial tree.
inline void broadcast(endpoint& door, void* data, std::size_t bytes, int root, double deadline = default_deadline) {
  run_collective(door, collective::binomial_tree::broadcast(door.size(), root), static_cast<std::byte*>(data),
                 static_cast<std::int64_t>(bytes), deadline, "broadcast");
}

/// values[i] = sum over ranks, with the ring's association, on every rank. Collective.
inline void all_reduce_sum(endpoint& door, double* values, std::size_t count, double deadline = default_deadline) {
  run_collective(door, collective::ring::all_reduce(door.size()), values, static_cast<std::int64_t>(count), deadline,
                 "all_reduce");
}

}  // namespace weft::inline v1::transport
