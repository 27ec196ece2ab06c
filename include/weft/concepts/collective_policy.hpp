// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <concepts>

namespace weft::inline v1 {

namespace collective {
struct step_list;
}

/// A way to sum over ranks, as a type without state; see collective/ring.hpp.
///
/// * `name`: as command lines take it
/// * `all_reduce(ranks)`: the step list, for any number of ranks from 1. `collective::check` and
///   `collective::has_one_association` must accept it; the tests hold every policy to that
template <class Policy>
concept collective_policy = requires(int ranks) {
  { Policy::name } -> std::convertible_to<char const*>;
  { Policy::all_reduce(ranks) } -> std::same_as<collective::step_list>;
};

/// One whose all-reduce is a reduce-scatter (rank r ends with the sum of chunk r) and then an all-gather, so that
/// sharded optimizers, which stop in between, get the same bits.
template <class Policy>
concept scattering_collective_policy = collective_policy<Policy> && requires(int ranks) {
  { Policy::reduce_scatter(ranks) } -> std::same_as<collective::step_list>;
  { Policy::all_gather(ranks) } -> std::same_as<collective::step_list>;
};

}  // namespace weft::inline v1
