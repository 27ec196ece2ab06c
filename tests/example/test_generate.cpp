// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scratch.hpp"

#include <mini_llm/generate.hpp>
#include <mini_llm/printable.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

using mini_llm::printable;
using weft_test::has;

namespace {

std::vector<float> three_logits() {
  std::vector<float> logits(256, -std::numeric_limits<float>::infinity());
  logits['a'] = std::log(0.5f);
  logits['b'] = std::log(0.3f);
  logits['c'] = std::log(0.2f);
  return logits;
}

std::vector<int> histogram(mini_llm::sampling const& how, int draws = 20000) {
  std::vector<int> counts(256, 0);
  auto const logits = three_logits();
  for (int position = 0; position < draws; ++position)
    ++counts[static_cast<std::size_t>(mini_llm::next_byte(logits, how, 3, static_cast<std::uint64_t>(position)))];
  return counts;
}

}  // namespace

TEST_CASE("bytes are drawn as often as the model says") {
  auto const counts = histogram({1.0, 0});
  CHECK(counts['a'] + counts['b'] + counts['c'] == 20000);
  CHECK(std::abs(counts['a'] - 10000) < 350);  // five standard deviations
  CHECK(std::abs(counts['b'] - 6000) < 330);
  CHECK(std::abs(counts['c'] - 4000) < 290);
  auto const colder = histogram({0.5, 0});  // squares: 25, 9, 4 of 38
  CHECK(std::abs(colder['a'] - 13158) < 340);
  CHECK(std::abs(colder['c'] - 2105) < 220);
  auto const two = histogram({1.0, 2});
  CHECK(two['c'] == 0);
  CHECK(std::abs(two['a'] - 12500) < 350);
  CHECK(histogram({1.0, 1}, 100)['a'] == 100);
  CHECK(histogram({0.0, 0}, 100)['a'] == 100);
  CHECK(histogram({1e-6, 0}, 100)['a'] == 100);
  auto const hot = histogram({100.0, 256});  // what has no probability gets none, however hot
  CHECK(hot['a'] + hot['b'] + hot['c'] == 20000);
}

TEST_CASE("a draw depends on seed and position alone, and ties go to the smaller byte") {
  auto const logits = three_logits();
  std::string first;
  std::string again;
  std::string other;
  for (std::uint64_t position = 0; position < 50; ++position) {
    first += static_cast<char>(mini_llm::next_byte(logits, {1.0, 0}, 7, position));
    other += static_cast<char>(mini_llm::next_byte(logits, {1.0, 0}, 8, position));
  }
  for (std::uint64_t position = 50; position-- > 0;)
    again.insert(again.begin(), static_cast<char>(mini_llm::next_byte(logits, {1.0, 0}, 7, position)));
  CHECK(first == again);
  CHECK(first != other);
  CHECK(first.substr(0, 3) == "bab");  // uniform numbers 0.690.., 0.282.., 0.678.. by a Philox of our own in Python
  std::vector<float> const equal(256, 1.0f);
  CHECK(mini_llm::next_byte(equal, {0.0, 0}, 1, 0) == 0);
  for (std::uint64_t position = 0; position < 50; ++position)
    CHECK(mini_llm::next_byte(equal, {1.0, 3}, 1, position) < 3);
}

TEST_CASE("logits that are no numbers are refused") {
  auto logits = three_logits();
  auto const words = [&] {
    return weft_test::message_of<weft::error>([&] { (void)mini_llm::next_byte(logits, {1.0, 0}, 1, 9); });
  };
  logits[65] = std::numeric_limits<float>::quiet_NaN();
  CHECK(has(words(), "the logit of byte 65 at position 9 is not finite; the training diverged: lower --lr"));
  logits[65] = HUGE_VALF;
  CHECK(has(words(), "is not finite"));
  logits.assign(256, -HUGE_VALF);
  CHECK(has(words(), "no logit at position 9 is finite"));
  logits.clear();
  CHECK(has(words(), "0 logits"));
  logits.assign(257, 0.0f);
  CHECK(has(words(), "257 logits"));
}

TEST_CASE("the context is the last bytes, from column 0, zeros behind") {
  std::vector<std::int32_t> inputs(4, -7);
  std::vector<std::uint8_t> text{10, 200};
  auto window = mini_llm::fill_context(text, 4, inputs.data());
  CHECK(inputs == std::vector<std::int32_t>{10, 200, 0, 0});
  CHECK(window.column == 1);
  CHECK(window.first == 0);
  text = {1, 2, 3, 4};
  window = mini_llm::fill_context(text, 4, inputs.data());
  CHECK(inputs == std::vector<std::int32_t>{1, 2, 3, 4});
  CHECK(window.column == 3);
  text = {1, 2, 3, 4, 5, 6};
  window = mini_llm::fill_context(text, 4, inputs.data());
  CHECK(inputs == std::vector<std::int32_t>{3, 4, 5, 6});
  CHECK(window.first == 2);
  CHECK_FALSE(weft_test::message_of<weft::error>([&] { mini_llm::fill_context({}, 4, inputs.data()); }).empty());
}

TEST_CASE("text reaches the terminal, commands to it do not") {
  CHECK(printable("plain\n\ttext") == "plain\n\ttext");
  CHECK(printable("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80") == "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK(printable("\x1b[2J\r\b\x7f") == "\\x1b[2J\\x0d\\x08\\x7f");
  CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("cut \xe2\x82") == "cut \\xe2\\x82");
  CHECK(printable("\xe2\x82x") == "\\xe2\\x82x");
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");           // overlong /
  CHECK(printable("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");  // overlong, three bytes
  CHECK(printable("\xf0\x80\x80\xaf") == "\\xf0\\x80\\x80\\xaf");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  CHECK(printable("\xf4\x8f\xbf\xbf") == "\xf4\x8f\xbf\xbf");
  CHECK(printable("\xc2\x9b"
                  "2J") == "\\xc2\\x9b2J");  // CSI as one character
  CHECK(mini_llm::quoted_name("a\x1b") == "\"a\\x1b\"");
  CHECK(mini_llm::quoted_name(std::string(500, 'x')).size() < 130);
}
