// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scratch.hpp"

#include <mini_llm/sampler.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

namespace {

/// Byte i is i * 7 + i / 256, so that a place can be told from its neighbours.
std::vector<std::uint8_t> pattern(std::size_t size) {
  std::vector<std::uint8_t> text(size);
  for (std::size_t index = 0; index < size; ++index) text[index] = static_cast<std::uint8_t>(index * 7 + index / 256);
  return text;
}

}  // namespace

static_assert(mini_llm::draw_below(1, 5, mini_llm::draw_purpose::training_window, 3, 4) == 0);
static_assert(mini_llm::draw_bits(1, mini_llm::draw_purpose::training_window, 2, 3) !=
              mini_llm::draw_bits(1, mini_llm::draw_purpose::generated_byte, 2, 3));

TEST_CASE("draws below a bound are the high half of the product, and even") {
  using mini_llm::draw_purpose;
  for (std::uint64_t const bound : {std::uint64_t{1}, std::uint64_t{10}, std::uint64_t{1} << 31,
                                    (std::uint64_t{1} << 40) + 12345, ~std::uint64_t{0}}) {
    for (std::uint64_t step = 0; step < 100; ++step) {
      std::uint64_t const bits = mini_llm::draw_bits(9, draw_purpose::training_window, step, 1);
      __extension__ using wide = unsigned __int128;
      CHECK(mini_llm::draw_below(bound, 9, draw_purpose::training_window, step, 1) ==
            static_cast<std::uint64_t>((static_cast<wide>(bits) * bound) >> 64));
    }
  }
  std::vector<int> counts(10, 0);
  for (std::uint64_t step = 0; step < 100000; ++step)
    ++counts[mini_llm::draw_below(10, 1, draw_purpose::training_window, step, 0)];
  for (int const count : counts) CHECK(std::abs(count - 10000) < 500);  // five standard deviations
}

TEST_CASE("a window is a function of seed, step and sample alone") {
  auto const text = pattern(5000);
  mini_llm::training_sampler const one(text, 16, 42);
  mini_llm::training_sampler const other(text, 16, 42);
  mini_llm::batch_arrays whole;
  one.fill(7, 8, whole);
  // Asked in another order, after other steps, or in a larger batch: the same windows.
  mini_llm::batch_arrays later;
  other.fill(3, 8, later);
  other.fill(7, 12, later);
  for (std::size_t index = 0; index < whole.inputs.size(); ++index) {
    REQUIRE(whole.inputs[index] == later.inputs[index]);
    REQUIRE(whole.targets[index] == later.targets[index]);
  }
  CHECK(whole.counted_tokens == 8 * 16);
  CHECK(mini_llm::training_sampler(text, 16, 43).start(7, 0) != one.start(7, 0));
  CHECK(one.start(7, 0) != one.start(7, 1));
  CHECK(one.start(7, 0) != one.start(8, 0));
}

TEST_CASE("windows of seed 1 are these, on every machine and in every version") {
  auto const text = pattern(1000);
  mini_llm::training_sampler const sampler(text, 8, 1);
  std::vector<std::int64_t> starts;
  for (std::uint64_t step = 0; step < 2; ++step)
    for (std::uint64_t sample = 0; sample < 3; ++sample) starts.push_back(sampler.start(step, sample));
  CHECK(starts == std::vector<std::int64_t>{305, 60, 762, 872, 580, 514});  // by a Philox of our own in Python
}

TEST_CASE("inputs and targets are the text and the text one further; the ends of the text are reached") {
  auto const text = pattern(24);
  constexpr int length = 16;
  mini_llm::training_sampler const sampler(text, length, 1);
  std::set<std::int64_t> seen;
  for (std::uint64_t step = 0; step < 200; ++step) {
    mini_llm::batch_arrays batch;
    sampler.fill(step, 2, batch);
    for (std::size_t sample = 0; sample < 2; ++sample) {
      std::int64_t const start = sampler.start(step, sample);
      seen.insert(start);
      REQUIRE(start >= 0);
      REQUIRE(start + length + 1 <= static_cast<std::int64_t>(text.size()));
      for (std::size_t place = 0; place < length; ++place) {
        REQUIRE(batch.inputs[sample * length + place] == text[static_cast<std::size_t>(start) + place]);
        REQUIRE(batch.targets[sample * length + place] == text[static_cast<std::size_t>(start) + place + 1]);
      }
    }
  }
  CHECK(seen.size() == 8);  // 24 - 16 windows, all of them
}

TEST_CASE("a text of one window has that one, a shorter one is refused") {
  auto const text = pattern(9);
  CHECK(mini_llm::training_sampler(text, 8, 3).start(5, 5) == 0);
  CHECK(weft_test::has(weft_test::message_of<weft::error>([&] { mini_llm::training_sampler(text, 9, 3); }),
                       "lengths from 1 to 8 are possible"));
  CHECK_FALSE(weft_test::message_of<weft::error>([&] { mini_llm::training_sampler(text, 0, 3); }).empty());
  CHECK_FALSE(weft_test::message_of<weft::error>([&] { mini_llm::training_sampler({}, 1, 3); }).empty());
}

TEST_CASE("validation windows: evenly spaced, nothing predicted twice, for every size of text") {
  for (int length : {1, 2, 5, 16})
    for (std::size_t size = static_cast<std::size_t>(length) + 1; size < 130; ++size)
      for (int const batches : {0, 1, 2, 50}) {
        auto const text = pattern(size);
        mini_llm::validation_windows const windows(text, length, 3, batches);
        std::int64_t const most = (static_cast<std::int64_t>(size) - 1) / length;
        REQUIRE(windows.windows() == (batches == 0 ? most : std::min<std::int64_t>(most, 3 * batches)));
        std::int64_t widest = 0;
        std::int64_t narrowest = 1 << 30;
        for (std::int64_t window = 0; window < windows.windows(); ++window) {
          REQUIRE(windows.start(window) >= 0);
          REQUIRE(windows.start(window) + length + 1 <= static_cast<std::int64_t>(size));
          if (window == 0) continue;
          std::int64_t const distance = windows.start(window) - windows.start(window - 1);
          REQUIRE(distance >= length);
          widest = std::max(widest, distance);
          narrowest = std::min(narrowest, distance);
        }
        if (windows.windows() == 1) continue;
        REQUIRE(widest - narrowest <= 1);
        REQUIRE(windows.start(windows.windows() - 1) + length + 1 == static_cast<std::int64_t>(size));
      }
}

TEST_CASE("a last validation batch that is not full is filled up with sequences that do not count") {
  auto const text = pattern(71);  // 7 windows of length 10
  mini_llm::validation_windows const windows(text, 10, 4, 0);
  REQUIRE(windows.windows() == 7);
  REQUIRE(windows.batches() == 2);
  mini_llm::batch_arrays batch;
  windows.fill(0, batch);
  CHECK(batch.counted_tokens == 40);
  windows.fill(1, batch);
  CHECK(batch.counted_tokens == 30);
  for (std::size_t index = 0; index < 40; ++index) {
    CHECK((batch.targets[index] == -1) == (index >= 30));
    CHECK(batch.inputs[index] >= 0);
    CHECK(batch.inputs[index] < 256);
  }
  CHECK_FALSE(weft_test::message_of<weft::error>([&] { mini_llm::validation_windows(text, 71, 4, 0); }).empty());
}
