// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: the schedule deadlocks
// expect: schedule_must_be_playable
// expect: deadlock, 0, 0, 0>

#include <weft/plan/plan.hpp>

/// Rank 0 waits for its first backward before it has sent what the others wait for.
struct impatient : weft::schedule::gpipe {
  static constexpr char const* name = "impatient";

  template <class Writer>
  static constexpr void write_row(int rank, int ranks, int micro_batches, Writer& put) {
#ifdef WEFT_TWIN
    bool const alternates = rank == ranks - 1;
#else
    bool const alternates = rank == 0;
#endif
    if (!alternates) return gpipe::write_row(rank, ranks, micro_batches, put);
    for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
      put(weft::schedule::op::forward, rank, micro_batch);
      put(weft::schedule::op::backward, rank, micro_batch);
    }
  }
};

using plan = weft::plan<impatient, weft::pipeline_ranks<3>, weft::micro_batches<4>>;
constexpr int tag = plan::report.largest_tag;
