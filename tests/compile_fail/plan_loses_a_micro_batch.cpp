// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: the schedule cannot be played
// expect: missing_backward, 1, 1, 3>

#include <weft/plan/plan.hpp>

/// Rank 1 forgets its last backward.
struct forgetful : weft::schedule::gpipe {
  static constexpr char const* name = "forgetful";

  template <class Writer>
  static constexpr void write_row(int rank, int /*ranks*/, int micro_batches, Writer& put) {
#ifdef WEFT_TWIN
    int const backwards = micro_batches;
#else
    int const backwards = rank == 1 ? micro_batches - 1 : micro_batches;
#endif
    for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch)
      put(weft::schedule::op::forward, rank, micro_batch);
    for (int micro_batch = 0; micro_batch < backwards; ++micro_batch)
      put(weft::schedule::op::backward, rank, micro_batch);
  }
};

using plan = weft::plan<forgetful, weft::pipeline_ranks<2>, weft::micro_batches<4>>;
constexpr int tag = plan::report.largest_tag;
