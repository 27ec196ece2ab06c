// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <weft/model/chain.hpp>
#include <weft/model/token_batch.hpp>

// A chain numbers its layers through; repeats count from 0 each.
namespace {

struct first {
  static constexpr int number = 1;
};
struct middle {
  static constexpr int number = 2;
};
struct last {
  static constexpr int number = 3;
};

using model = weft::chain<first, weft::repeat<3, middle>, weft::repeat<0, first>, weft::repeat<2, middle>, last>;

constexpr int seen(int layer) {
  return model::visit(layer, [](auto tag, int index) { return decltype(tag)::type::number * 10 + index; });
}

static_assert(model::layer_count == 7);
static_assert(seen(0) == 10 && seen(1) == 20 && seen(2) == 21 && seen(3) == 22);
static_assert(seen(4) == 20 && seen(5) == 21 && seen(6) == 30);

using weft::model::micro_batch_range;
using weft::model::sequence_range;

/// Every sequence once, larger pieces first, sizes that differ by at most one.
constexpr bool covers(int sequences, int micro_batches) {
  int next = 0;
  int before = sequences;
  for (int index = 0; index < micro_batches; ++index) {
    sequence_range const range = micro_batch_range(sequences, micro_batches, index);
    if (range.first != next || range.count > before || range.count < sequences / micro_batches ||
        range.count > (sequences + micro_batches - 1) / micro_batches)
      return false;
    next += range.count;
    before = range.count;
  }
  return next == sequences;
}

constexpr bool all_cover() {
  for (int sequences = 0; sequences <= 20; ++sequences)
    for (int micro_batches = 1; micro_batches <= 9; ++micro_batches)
      if (!covers(sequences, micro_batches)) return false;
  return true;
}
static_assert(all_cover());

}  // namespace
