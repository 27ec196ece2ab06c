// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `--door nccl`, over a library on the host and ranks that are threads. No MPI: it is not for the thread sanitizer.
#include "support/host_library.hpp"

#include <mini_llm/vendor_door.hpp>
#include <mini_llm/vendor_library.hpp>

#include <weft/transport/copies.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/staged.hpp>
#include <weft/transport/vendor_groups.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <string>

namespace {

using mini_llm::door_kind;
using mini_llm::options;
using weft::transport::carrier;
using weft::transport::endpoint;
using weft::transport::in_process;

struct host_vendor {
  using library = weft_test::host_library<false>;
  static constexpr char const* name = "host";
  static library make() { return library(); }
};
using staged_door = weft::transport::staged<1024, weft::transport::host_copies>;

options chosen_by_library() {
  options chosen;
  chosen.door = door_kind::nccl;
  chosen.timeout_seconds = 20.0;
  chosen.data_ranks = 2;
  return chosen;
}

}  // namespace

TEST_CASE("doors: a vendor's library between its ranks, staged with those that have none") {
  auto const chosen = chosen_by_library();
  std::atomic<int> wrong{0};
  in_process::run(4, [&](endpoint& inner) {
    auto const look = [&](endpoint& door, bool has_library) {
      if (!door.keeps_issue_order()) ++wrong;
      for (int peer = 0; peer < 4; ++peer) {
        auto const expected = has_library && peer < 2 ? carrier::library : carrier::host;
        if (door.carries(peer, "Host") != expected || !door.moves_parts(peer, "Host")) ++wrong;
      }
      weft::transport::vendor_groups const groups(door, "Host", true, 20.0);
      if (groups.groups() != 3 || groups.in_parts() != true) ++wrong;
    };
    staged_door staged(inner);
    if (inner.rank() < 2)
      look(*mini_llm::make_vendor_door<host_vendor>(chosen, staged, 20.0), true);
    else
      look(*mini_llm::make_vendor_door<mini_llm::own_vendor>(chosen, staged, 20.0), false);
  });
  CHECK(wrong == 0);
}

TEST_CASE("doors: programs are lowered such that a library's one queue can run them") {
  for (std::string const schedule : {"1f1b", "zb-h1", "dualpipe", "pipedream-2bw"}) {
    CAPTURE(schedule);
    auto chosen = chosen_by_library();
    chosen.schedule = schedule;
    chosen.data_ranks = 1;
    std::string words;
    try {
      in_process::run(
          2, [&](endpoint& inner) { static_cast<void>(mini_llm::make_vendor_door<host_vendor>(chosen, inner, 20.0)); });
    } catch (weft::error const& failure) {
      words = failure.what();
    }
    CHECK(words == "");
  }
}

TEST_CASE("doors: a job without any vendor's library is refused on every rank") {
  std::atomic<int> refused{0};
  in_process::run(2, [&](endpoint& inner) {
    try {
      static_cast<void>(mini_llm::make_vendor_door<mini_llm::own_vendor>(chosen_by_library(), inner, 20.0));
    } catch (weft::agreed_error const& failure) {
      std::string const words = failure.what();
      if (words.find("no rank's build has one") != std::string::npos) ++refused;
    }
  });
  CHECK(refused == 2);
}
