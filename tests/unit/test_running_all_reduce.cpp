// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/all_reduce_checks.hpp"

#include <weft/transport/in_process.hpp>
#include <weft/transport/run_collective.hpp>
#include <weft/transport/subgroup.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

using weft::collective::all_reduce_choice;
using weft::transport::endpoint;
using weft::transport::in_process;
using weft::transport::running_all_reduce;

namespace {

std::vector<std::string> policies() {
  std::vector<std::string> names(std::begin(weft::collective::all_reduce_names),
                                 std::end(weft::collective::all_reduce_names));
  names.push_back("hierarchical:3");
  return names;
}

}  // namespace

TEST_CASE("running all-reduce: the bits of play_locally, any policy, size, segment and type, on 1 to 9 ranks") {
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (auto const& name : policies()) {
      CAPTURE(ranks);
      CAPTURE(name);
      all_reduce_choice const how(name);
      std::atomic<int> wrong{0};
      in_process::run(ranks, [&](endpoint& door) {
        for (std::int64_t const elements : {0, 1, 2, ranks - 1, ranks, ranks + 1, 1009})
          for (std::int64_t const segment : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, std::int64_t{128}}) {
            if (!weft_test::sums_are_right<float>(door, how, elements, segment)) ++wrong;
            if (!weft_test::sums_are_right<double>(door, how, elements, segment)) ++wrong;
          }
        if (!weft_test::sums_are_right<float>(door, how, 100003, 4096)) ++wrong;
        if (!weft_test::sums_are_right<double>(door, how, 100003, 0)) ++wrong;
      });
      CHECK(wrong == 0);
    }
}
