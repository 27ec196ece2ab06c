// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/play_locally.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/running_all_reduce.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

namespace weft_test {

/// Numbers whose sum depends on the nesting of its additions: exponents over 12 binary orders, both signs.
template <class Number>
Number contribution(int rank, std::int64_t element, int salt = 0) {
  auto bits = static_cast<std::uint64_t>(element) * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(rank + 131 * salt);
  bits = (bits ^ (bits >> 29U)) * 0xBF58476D1CE4E5B9U;
  bits ^= bits >> 32U;
  auto const mantissa = static_cast<double>(bits % 16777213U) / 16777213.0 + 0.5;
  return static_cast<Number>((bits >> 40U & 1U) == 0U ? mantissa : -mantissa) *
         static_cast<Number>(1 << (bits >> 44U) % 12U);
}

/// A buffer of one rank between two sentinels, so that a message that overruns is seen.
template <class Number>
class fenced_buffer {
 public:
  fenced_buffer(int rank, std::int64_t elements, int salt = 0)
      : all_(static_cast<std::size_t>(elements) + 2 * fence, Number(-77)) {
    for (std::int64_t element = 0; element < elements; ++element)
      data()[element] = contribution<Number>(rank, element, salt);
  }
  [[nodiscard]] Number* data() { return all_.data() + fence; }
  [[nodiscard]] bool holds(std::vector<Number> const& expected) const {
    for (std::size_t index = 0; index < fence; ++index)
      if (all_[index] != Number(-77) || all_[all_.size() - 1 - index] != Number(-77)) return false;
    return expected.size() + 2 * fence == all_.size() &&
           (expected.empty() ||
            std::memcmp(all_.data() + fence, expected.data(), expected.size() * sizeof(Number)) == 0);
  }

 private:
  static constexpr std::size_t fence = 16;
  std::vector<Number> all_;
};

/// What every rank must end with: the step list, played in one process.
template <class Number>
std::vector<Number> expected_sums(weft::collective::step_list const& list, std::int64_t elements, int salt = 0) {
  std::vector<std::vector<Number>> buffers(static_cast<std::size_t>(list.ranks));
  std::vector<Number*> data;
  for (int rank = 0; rank < list.ranks; ++rank) {
    auto& mine = buffers[static_cast<std::size_t>(rank)];
    for (std::int64_t element = 0; element < elements; ++element)
      mine.push_back(contribution<Number>(rank, element, salt));
    data.push_back(mine.data());
  }
  weft::collective::play_locally(list, data.data(), elements);
  return buffers.front();
}

/// Runs of one object, each compared bit for bit with `play_locally`. Collective.
template <class Number>
bool sums_are_right(weft::transport::endpoint& door, weft::collective::all_reduce_choice const& how,
                    std::int64_t elements, std::int64_t segment, int turns = 2) {
  weft::transport::running_all_reduce<Number> running(door, how, elements, weft::schedule::running_tag(0),
                                                      {.segment_elements = segment});
  bool is_right = true;
  for (int salt = 0; salt < turns; ++salt) {
    fenced_buffer<Number> mine(door.rank(), elements, salt);
    running.start(mine.data());
    running.wait(60.0);
    is_right =
        is_right && running.advance() && mine.holds(expected_sums<Number>(how.list(door.size()), elements, salt));
  }
  return is_right;
}

}  // namespace weft_test
