// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where the first and the last stage share a rank, the tied table is kept once; elsewhere its two uses are summed.

#include "support/tiny_training.hpp"

#include <weft/schedule/interleaved_1f1b.hpp>
#include <weft/schedule/wave.hpp>
#include <weft/schedule/zero_bubble_v.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace tiny_training;

namespace {

struct held {
  std::int64_t own = 0;     ///< numbers with a value here
  std::int64_t shared = 0;  ///< numbers whose value is another entry's
  std::size_t bytes = 0;
  std::size_t from_elsewhere = 0;  ///< bytes of the other site's gradient
};

/// What each rank holds after two steps, each of which must have counted.
template <class Policy>
std::vector<held> train(int ranks) {
  std::vector<held> all(static_cast<std::size_t>(ranks));
  weft::transport::in_process::run(ranks, [&](weft::transport::endpoint& door) {
    weft::train::trainer_options options;
    options.extents = {sequences, length};
    options.deadline = 60.0;
    weft::train::trainer<tiny, float, space> trainer(weft::schedule::make_program<Policy>(ranks, 4), door, options);
    token_source const batch(tiny::vocabulary, sequences, length, 1);
    for (std::uint64_t step = 0; step < 2; ++step) CHECK_FALSE(trainer.step(batch.view(4, step)).is_skipped);
    auto& mine = all[static_cast<std::size_t>(door.rank())];
    auto const& store = trainer.stage().store();
    for (auto const& each : store.entries()) (each.owner < 0 ? mine.own : mine.shared) += each.elements;
    mine.bytes = store.bytes();
    mine.from_elsewhere = trainer.stage().tied_bytes();
  });
  return all;
}

constexpr std::int64_t table = 31 * 16;

template <class Policy>
void keeps_one_table(int ranks) {
  CAPTURE(Policy::name);
  CAPTURE(ranks);
  auto const all = train<Policy>(ranks);
  CHECK(all[0].shared == table);
  for (auto const& each : all) CHECK(each.from_elsewhere == 0);  // nothing of it travels
  for (std::size_t rank = 1; rank < all.size(); ++rank) CHECK(all[rank].shared == 0);
}

}  // namespace

TEST_CASE("tied placement: V and wave keep the table once, on rank 0, and send none of its gradients") {
  for (int const ranks : {1, 2, 3}) keeps_one_table<weft::schedule::zero_bubble_v>(ranks);
  for (int const ranks : {2, 3}) keeps_one_table<weft::schedule::wave<1>>(ranks);
}

TEST_CASE("tied placement: a loop keeps it on two ranks, and adds their gradients up") {
  auto const all = train<weft::schedule::interleaved_1f1b<2>>(2);
  for (auto const& each : all) {
    CHECK(each.shared == 0);
    CHECK(each.from_elsewhere == static_cast<std::size_t>(table) * sizeof(float));
  }
  auto const v = train<weft::schedule::zero_bubble_v>(2);
  CHECK(all[0].own + all[1].own == v[0].own + v[1].own + table);
}
