// ranks: 2 3 4
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/asynchronous_training.hpp"

#include <weft/transport/mpi.hpp>
#include <weft/transport/run_collective.hpp>

#include <doctest/doctest.h>

using namespace asynchronous_training;

TEST_CASE("mpi asynchronous trainer: every rank's weights after every window by the formula, bit for bit") {
  weft::transport::mpi door(MPI_COMM_WORLD);
  for (char const* const name : {"pipedream", "pipedream-vertical-sync", "pipedream-2bw"})
    for (clip_policy const clipping : {clip_policy::per_stage, clip_policy::delayed_norm}) {
      run how{.schedule = name, .ranks = door.size(), .windows = {1, 4, 2}, .clipping = clipping};
      if (how.schedule == "pipedream-2bw") how.micro_batches = door.size() + 1;
      outcome found;
      found.after.resize(how.windows.size());
      saved_run unused;
      train<tiny>(door, how, 0, how.windows.size(), unused, found);
      auto const expected = emulate<tiny>(how);
      double wrong = door.rank() == 0 && (found.losses != expected.losses || found.norms != expected.norms) ? 1.0 : 0.0;
      for (std::size_t window = 0; window < how.windows.size(); ++window) {
        if (found.after[window].empty()) wrong += 1.0;
        for (auto const& [key, tensor] : found.after[window])
          if (!(expected.after[window].at(key) == tensor)) wrong += 1.0;
      }
      weft::transport::all_reduce_sum(door, &wrong, 1);
      CAPTURE(how.schedule);
      CHECK(wrong == 0.0);
    }
}
