// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/make_program.hpp>
#include <weft/schedule/picture.hpp>

#include <sstream>

using namespace weft::schedule;

TEST_CASE("picture: the timeline of gpipe as text") {
  auto const times = make_timeline(make_program("gpipe", 2, 2).view());
  CHECK(draw_text(times) ==
        "rank 0 |F0 F1 .. .. .. B0--- B1--- |\n"
        "rank 1 |.. F0 F1 B0--- B1--- .. .. |\n");
}

TEST_CASE("picture: long timelines are cut, and every line is as long as asked at most") {
  auto const times = make_timeline(make_program("1f1b", 12, 100).view());
  std::istringstream lines(draw_text(times, {.width = 80}));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    CHECK(line.size() <= 80);
    CHECK(line.back() == '>');
    CHECK(line.find('|') == 8);
  }
  CHECK(count == 12);
}

TEST_CASE("picture: the SVG has one box per action and closes what it opens") {
  auto const times = make_timeline(make_program("1f1b", 3, 4).view());
  std::string const svg = draw_svg(times, "1f1b");
  auto const count = [&](std::string const& word) {
    int found = 0;
    for (std::size_t at = svg.find(word); at != std::string::npos; at = svg.find(word, at + 1)) ++found;
    return found;
  };
  CHECK(count("<rect") == 3 + 2 * 3 * 4);
  CHECK(count("<text") == count("</text>"));
  CHECK(count("<svg") == 1);
  CHECK(count("</svg>") == 1);
}

TEST_CASE("picture: nothing to draw is no crash") {
  CHECK(draw_text(nullptr, 0, 2) == "rank 0 ||\nrank 1 ||\n");
  CHECK(draw_svg(nullptr, 0, 1).find("</svg>") != std::string::npos);
}
