// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: refuse_row

#include <weft/plan/all.hpp>
#include <weft/schedule/all.hpp>

struct generous : weft::schedule::gpipe {
  static constexpr char const* name = "generous";
  template <class Writer>
  static constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) {
    weft::schedule::gpipe::write_row(rank, ranks, micro_batches, put);
#ifndef WEFT_TWIN
    put(weft::schedule::op::backward, rank, 0);
#endif
  }
};

constexpr int count() { return weft::schedule::write_table<generous>(2, 3).action_count(); }
static_assert(count() == 12);
