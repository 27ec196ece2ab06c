// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scratch.hpp"

#include <mini_llm/progress.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

using weft_test::has;

namespace {

constexpr mini_llm::progress_state half{150, 300, 2.34567, 12345.6, 0.876, 61.7};

}  // namespace

TEST_CASE("the bar fits every width, and gives up the least important first") {
  for (int width = 1; width < 200; ++width) {
    std::string const bar = mini_llm::progress_bar(half, width);
    CAPTURE(width);
    CAPTURE(bar);
    REQUIRE(bar.size() <= static_cast<std::size_t>(width));
    REQUIRE_FALSE(has(bar, "\n"));
  }
  CHECK(mini_llm::progress_bar(half, 80) ==
        "150/300  [#########.........]  loss 2.3457  12.3k tok/s  88% of ideal  1:02 left");
  CHECK(mini_llm::progress_bar(half, 44) == "150/300  loss 2.3457  12.3k tok/s  1:02 left");
  CHECK(mini_llm::progress_bar(half, 43) == "150/300  [####....]  loss 2.3457  1:02 left");  // a bar, not half a number
  CHECK(mini_llm::progress_bar(half, 20) == "150/300  loss 2.3457");
  CHECK(mini_llm::progress_bar(half, 33) == "150/300  loss 2.3457  1:02 left");
  CHECK(mini_llm::progress_bar(half, 5) == "150/3");
  CHECK(has(mini_llm::progress_bar({300, 300, 1, 1, 1, 0}, 100), "[" + std::string(40, '#') + "]"));
  CHECK_FALSE(has(mini_llm::progress_bar({300, 300, 1, 1, -1, 0}, 100), "ideal"));
}

TEST_CASE("numbers that cannot be, and steps that are none, do not break the line") {
  mini_llm::progress_state const strange{0, 0, std::nan(""), HUGE_VAL, -1.0, HUGE_VAL};
  for (int width = 1; width < 120; ++width)
    CHECK(mini_llm::progress_bar(strange, width).size() <= static_cast<std::size_t>(width));
  CHECK(has(mini_llm::progress_line(strange), "-:-- left"));
}

TEST_CASE("times and rates") {
  CHECK(mini_llm::clock_text(0.2) == "0:00");
  CHECK(mini_llm::clock_text(59.6) == "1:00");
  CHECK(mini_llm::clock_text(3600) == "1:00:00");
  CHECK(mini_llm::clock_text(-1) == "-:--");
  CHECK(mini_llm::clock_text(std::nan("")) == "-:--");
  CHECK(mini_llm::rate_text(999.4) == "999 tok/s");
  CHECK(mini_llm::rate_text(12345) == "12.3k tok/s");
  CHECK(mini_llm::rate_text(2.5e6) == "2.5M tok/s");
}

TEST_CASE("without a terminal: plain lines at the first, every n-th and the last step, no control characters") {
  std::ostringstream out;
  {
    mini_llm::progress report(out, false, 10);
    for (std::int64_t step = 1; step <= 25; ++step) report.report({step, 25, 1.0, 100.0, 0.5, 3.0});
    report.note("a note");
  }
  std::string const text = out.str();
  CHECK(std::count(text.begin(), text.end(), '\n') == 5);
  CHECK(text.starts_with("step 1/25  loss 1.0000  100 tok/s  50 % of the schedule's ideal  0:03 left\n"));
  for (char const* const step : {"step 10/25", "step 20/25", "step 25/25", "a note\n"}) CHECK(has(text, step));
  CHECK_FALSE(has(text, "\r"));
  CHECK_FALSE(has(text, "\x1b"));
}

TEST_CASE("on a terminal: one line that is redrawn, notes above it, and a line end at the end") {
  std::ostringstream out;
  {
    mini_llm::progress report(out, true, 10, 60);
    report.note("before");
    report.report(half);
    report.note("between");
    report.report(half);
  }
  std::string const bar = mini_llm::progress_bar(half, 59);
  CHECK(out.str() == "before\n\r" + bar + "\x1b[K\r\x1b[Kbetween\n" + bar + "\r" + bar + "\x1b[K\n");
}
