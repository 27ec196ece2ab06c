// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scratch.hpp"

#include <mini_llm/metrics.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>

using weft_test::get;
using weft_test::has;
using weft_test::put;
using weft_test::scratch;

namespace {

double loss_of(std::int64_t step) { return 5.0 / (1.0 + static_cast<double>(step) / 3.0); }

void append_steps(mini_llm::loss_log log, std::int64_t first, std::int64_t last) {
  for (std::int64_t step = first; step <= last; ++step) log.append(step, loss_of(step));
}

}  // namespace

TEST_CASE("losses.csv holds every loss exactly and readably") {
  scratch folder;
  append_steps(mini_llm::loss_log::start(folder / "losses.csv"), 1, 20);
  std::istringstream lines(get(folder / "losses.csv"));
  std::string line;
  std::getline(lines, line);
  CHECK(line == "step,loss_hex,loss");
  std::int64_t step = 0;
  while (std::getline(lines, line)) {
    ++step;
    std::size_t const first = line.find(',');
    std::size_t const second = line.find(',', first + 1);
    CHECK(std::stoll(line) == step);
    CHECK(std::strtod(line.c_str() + first + 1, nullptr) == loss_of(step));
    CHECK(std::strtod(line.c_str() + second + 1, nullptr) == doctest::Approx(loss_of(step)).epsilon(1e-8));
  }
  CHECK(step == 20);
}

TEST_CASE("a resumed losses.csv equals an uninterrupted one byte for byte") {
  scratch folder;
  append_steps(mini_llm::loss_log::start(folder / "whole"), 1, 20);
  std::string const whole = get(folder / "whole");
  std::string const first_twelve = whole.substr(0, whole.find("\n13,") + 1);
  // Killed at any byte after step 12 was saved: resumed at 12.
  for (std::size_t length = first_twelve.size(); length <= whole.size(); ++length) {
    put(folder / "losses.csv", whole.substr(0, length));
    auto log = mini_llm::loss_log::resume(folder / "losses.csv", 12);
    REQUIRE(log.last_kept() == 12);
    append_steps(std::move(log), 13, 20);
    REQUIRE(get(folder / "losses.csv") == whole);
  }
}

TEST_CASE("lines that a crash lost are noticed; a strange file is not touched") {
  scratch folder;
  append_steps(mini_llm::loss_log::start(folder / "losses.csv"), 1, 5);
  CHECK(mini_llm::loss_log::resume(folder / "losses.csv", 9).last_kept() == 5);
  CHECK(mini_llm::loss_log::resume(folder / "losses.csv", 0).last_kept() == std::nullopt);
  CHECK(get(folder / "losses.csv") == mini_llm::loss_log::header);
  put(folder / "losses.csv", "step,lo");  // cut inside the header
  append_steps(mini_llm::loss_log::resume(folder / "losses.csv", 3), 4, 4);
  CHECK(get(folder / "losses.csv").starts_with("step,loss_hex,loss\n4,0x"));
  std::filesystem::remove(folder / "losses.csv");
  CHECK(mini_llm::loss_log::resume(folder / "losses.csv", 3).last_kept() == std::nullopt);
  CHECK(get(folder / "losses.csv") == mini_llm::loss_log::header);
  put(folder / "losses.csv", "somebody else's");
  CHECK(has(weft_test::message_of<weft::error>([&] { (void)mini_llm::loss_log::resume(folder / "losses.csv", 3); }),
            "was not written by mini_llm; move it away"));
  CHECK(get(folder / "losses.csv") == "somebody else's");
  for (char const* const line : {"x,1,1\n", "5\n", "\n", "6,0x1p+0\n", "7,1,1,1\n"}) {
    put(folder / "losses.csv", std::string(mini_llm::loss_log::header) + "1,0x1p+0,1\n" + line + "3,0x1p+0,1\n");
    CHECK(mini_llm::loss_log::resume(folder / "losses.csv", 9).last_kept() == 1);
  }
}

TEST_CASE("metrics.jsonl: one object per line, cut back by step") {
  scratch folder;
  {
    auto log = mini_llm::metrics_log::start(folder / "m");
    log.append("train", 1, {{"loss", 1.5}, {"text", "two\nlines \xff"}});
    log.append("evaluation", 1, {{"loss", std::numeric_limits<double>::quiet_NaN()}});
    log.append("train", 2, {{"loss", 1.25}});
    log.sync();
  }
  std::istringstream lines(get(folder / "m"));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) CHECK(nlohmann::json::parse(line).contains("kind"));
  CHECK(count == 3);
  put(folder / "m", get(folder / "m") + "{\"kind\":\"tra");
  mini_llm::metrics_log::resume(folder / "m", 1).append("train", 2, {{"loss", 9}});
  std::string const file = get(folder / "m");
  CHECK(has(file, "{\"kind\":\"evaluation\",\"step\":1,\"loss\":null}\n{\"kind\":\"train\",\"step\":2,\"loss\":9}\n"));
  CHECK(std::count(file.begin(), file.end(), '\n') == 3);
}
