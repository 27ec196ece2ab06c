// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/binomial_tree.hpp>
#include <weft/collective/recursive_doubling.hpp>
#include <weft/collective/recursive_halving.hpp>
#include <weft/collective/step_list.hpp>
#include <weft/config.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/running_collective.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

/// @file
/// Collectives that a rank waits for, in host memory. Everything that waits for all ranks outside the pipeline comes
/// through here, so it waits as the engine does: with test and yield, looking at the failure channel.

namespace weft::inline v1::transport {

inline constexpr double default_deadline = 300.0;  ///< seconds

/// Plays this rank's part of a step list on `elements` numbers at `data`, in memory of its own, which it keeps for ever
/// where a failure leaves messages under way: `data` is the caller's again in any case. Collective over the endpoint's
/// ranks. `what` names the operation in messages; `on_turn()`, where given, is called in every unsuccessful turn of the
/// wait, for whoever has other messages to move meanwhile.
template <class Number, class OnTurn>
void run_collective(endpoint& door, collective::step_list const& list, Number* data, std::int64_t elements,
                    double deadline, char const* what, OnTurn&& on_turn) {
  auto const count = static_cast<std::size_t>(elements > 0 ? elements : 0);
  auto own = std::make_unique<Number[]>(count);
  std::copy_n(data, count, own.get());
  running_collective<Number> running(door, list, elements, schedule::tags::collective, what);
  try {
    running.start(own.get());
    running.wait(deadline, on_turn);
  } catch (...) {
    if (!running.give_up()) static_cast<void>(own.release());
    throw;
  }
  std::copy_n(own.get(), count, data);
}

template <class Number>
void run_collective(endpoint& door, collective::step_list const& list, Number* data, std::int64_t elements,
                    double deadline, char const* what) {
  run_collective(door, list, data, elements, deadline, what, [] {});
}

/// `everything[r]` = the `bytes` at rank r's `mine`, on every rank. Collective; recursive doubling, ceil(log2 n)
/// rounds.
inline void all_gather(endpoint& door, void const* mine, std::size_t bytes, void* everything,
                       double deadline = default_deadline) {
  auto* const out = static_cast<std::byte*>(everything);
  std::memcpy(out + bytes * static_cast<std::size_t>(door.rank()), mine, bytes);
  run_collective(door, collective::recursive_halving::all_gather(door.size()), out,
                 static_cast<std::int64_t>(bytes) * door.size(), deadline, "all_gather");
}

/// `data` of `root` on every rank. Collective; binomial tree.
inline void broadcast(endpoint& door, void* data, std::size_t bytes, int root, double deadline = default_deadline) {
  run_collective(door, collective::binomial_tree::broadcast(door.size(), root), static_cast<std::byte*>(data),
                 static_cast<std::int64_t>(bytes), deadline, "broadcast");
}

/// values[i] = sum over ranks, the same bits on every rank. Collective; few rounds for short lists, few bytes for long
/// ones, so how the additions are nested depends on the number of ranks and of values.
inline void all_reduce_sum(endpoint& door, double* values, std::size_t count, double deadline = default_deadline) {
  constexpr std::size_t short_list = 8192;  // 64 KiB
  auto const list = count <= short_list ? collective::recursive_doubling::all_reduce(door.size())
                                        : collective::recursive_halving::all_reduce(door.size());
  run_collective(door, list, values, static_cast<std::int64_t>(count), deadline, "all_reduce");
}

}  // namespace weft::inline v1::transport
