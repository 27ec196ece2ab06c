// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/step_list.hpp>
#include <weft/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::inline v1::collective {

/// own[i] = own[i] + received[i]: the one addition of every collective, so that each way of running one has its bits.
/// Blocks of a fixed length are what compilers turn into vector code even without -O3.
template <class Number>
inline void add_received(Number* __restrict own, Number const* __restrict received, std::size_t count) {
  constexpr std::size_t block = 64 / sizeof(Number) * 2;
  std::size_t index = 0;
  for (; index + block <= count; index += block)
    for (std::size_t each = 0; each < block; ++each) own[index + each] = own[index + each] + received[index + each];
  for (; index < count; ++index) own[index] = own[index] + received[index];
}

/// Plays a step list inside one process: buffers[r], of `elements` numbers, is rank r's. Does not communicate.
///
/// The additions are those of the distributed run, element by element and in its order, so the result has its bits: a
/// serial run that emulates data parallelism uses this. Works through the buffers in blocks that fit into the cache.
template <class Number>
void play_locally(step_list const& list, Number* const* buffers, std::int64_t elements) {
  constexpr std::int64_t block = 2048;
  std::vector<step> steps;  // of one chunk
  std::vector<Number> sent;
  for (int chunk = 0; chunk < list.chunks; ++chunk) {
    std::int64_t const end = chunk_begin(elements, list.chunks, chunk + 1);
    std::int64_t begin = chunk_begin(elements, list.chunks, chunk);
    if (begin == end) continue;
    steps.clear();
    std::size_t most = 0;  // of one round
    for (step const& each : list.steps)
      if (each.chunk == chunk) steps.push_back(each);
    for (std::size_t first = 0, last = 0; first < steps.size(); first = last) {
      while (last < steps.size() && steps[last].round == steps[first].round) ++last;
      most = (std::max)(most, last - first);
    }
    sent.resize(most * static_cast<std::size_t>(block));
    for (; begin < end; begin += block) {
      auto const count = static_cast<std::size_t>((std::min)(block, end - begin));
      for (std::size_t first = 0, last = 0; first < steps.size(); first = last) {
        // What a round sends is what the rounds before left behind.
        for (; last < steps.size() && steps[last].round == steps[first].round; ++last)
          std::copy_n(buffers[steps[last].from] + begin, count, sent.data() + (last - first) * count);
        for (std::size_t each = first; each < last; ++each) {
          Number const* const received = sent.data() + (each - first) * count;
          Number* const own = buffers[steps[each].to] + begin;
          if (steps[each].what == arrival::add)
            add_received(own, received, count);
          else
            std::copy_n(received, count, own);
        }
      }
    }
  }
}

}  // namespace weft::inline v1::collective
