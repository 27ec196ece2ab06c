// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Memory that cannot be had ends in one message with what was asked, what is free, who asked and what helps; no rank
// hangs, and the memory that was had is given back.
#include "trainers.hpp"

#include <weft/execution/allocate.hpp>
#include <weft/schedule/checked_program.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/transport/guarded.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/run_collective.hpp>

#include <support/token_source.hpp>

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

namespace {

using device_checks::gpt2;
using device_checks::memory;
using device_checks::space;

/// A host lends memory that it does not have: this process may take so many bytes more.
class scarce_memory {
 public:
  explicit scarce_memory(std::size_t bytes) {
    if constexpr (!is_host) return;
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    rlimit const limit{pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + bytes, before_.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
  }
  scarce_memory(scarce_memory const&) = delete;
  scarce_memory& operator=(scarce_memory const&) = delete;
  ~scarce_memory() {
    if constexpr (is_host) setrlimit(RLIMIT_AS, &before_);
  }
  static constexpr bool is_host = weft::execution::is_host_space<space>;

 private:
  rlimit before_{};
};

bool holds(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }

/// What each of two ranks says, where the first has one layer and the second all the others.
std::vector<std::string> messages(weft::model::extents extents) {
  std::vector<std::string> said(2);
  weft::transport::in_process::run(2, [&](auto& door) {
    weft::train::trainer_options options;
    options.extents = extents;
    options.deadline = 60.0;
    options.partition = {{0, 1}, {1, gpt2::layer_count}};
    try {
      weft::train::trainer<gpt2, float, space> trainer(weft::schedule::make_program<weft::schedule::one_f_one_b>(2, 2),
                                                       door, options);
      trainer.step(token_source(gpt2::vocabulary, 4, gpt2::positions, 1).view(2, 0));
      said[static_cast<std::size_t>(door.rank())] = "trains";
    } catch (std::exception const& failure) {
      said[static_cast<std::size_t>(door.rank())] = failure.what();
    }
  });
  return said;
}

}  // namespace

TEST_CASE("device memory: a view that does not fit says so") {
  constexpr std::size_t bytes = std::size_t{1} << 46;
  std::string said;
  try {
    scarce_memory const little(std::size_t{1} << 28);
    auto const never = weft::execution::allocate<Kokkos::View<double*, memory>>("weft::much", bytes / 8);
  } catch (weft::memory_error const& failure) {
    said = failure.what();
    CHECK(std::string(failure.on_rank(3).what()).find("weft::memory: rank 3: 70368744177664 bytes") == 0);
    CHECK(failure.on_rank(3).location().rank == 3);
  }
  CHECK(holds(said, "70368744177664 bytes for 'weft::much'"));
  CHECK(holds(said, memory::name()));
  CHECK(holds(said, "bytes are free"));
  CHECK(holds(said, "; cut smaller micro-batches"));
}

TEST_CASE("device memory: where one rank alone has too little, the others end with its words") {
  std::vector<std::string> said(3);
  weft::transport::in_process::run(3, [&](auto& door) {
    try {
      weft::transport::guarded(door, [&] {
        double sum = 1.0;
        if (door.rank() == 1) {
          auto const never =
              weft::execution::allocate<Kokkos::View<double*, memory>>("weft::much", std::size_t{1} << 47);
        }
        weft::transport::all_reduce_sum(door, &sum, 1, 60.0);
      });
    } catch (std::exception const& failure) {
      said[static_cast<std::size_t>(door.rank())] = failure.what();
    }
  });
  for (std::string const& each : said) {
    CAPTURE(each);
    CHECK(each.find("weft::memory: rank 1: 1125899906842624 bytes for 'weft::much'") == 0);
  }
}

TEST_CASE("device memory: every rank of a trainer that does not fit ends, with the rank that has too little") {
  // On a device all ranks ask for more than there is. On a host the second one does, and the first may find the rest
  // too little: threads share one limit.
  auto const said = [] {
    scarce_memory const little(std::size_t{1} << 28);
    return messages({scarce_memory::is_host ? 1 << 12 : 1 << 26, gpt2::positions});
  }();
  CAPTURE(said[0]);
  CAPTURE(said[1]);
  CHECK(holds(said[0], "weft::memory: rank "));
  CHECK(holds(said[1], "weft::memory: rank "));
  CHECK(holds(said[1], "bytes for 'weft::"));
  CHECK(holds(said[1], "; cut smaller micro-batches"));

  auto const after = messages({2, gpt2::positions});
  CHECK(after[0] == "trains");
  CHECK(after[1] == "trains");
}
