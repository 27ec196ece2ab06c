// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule: repeats() says that rows repeat, but those of neighbouring counts do not differ by one body

#include <weft/plan/plan.hpp>

/// GPipe grows in two places at once, its forwards and its backwards.
struct in_two_places : weft::schedule::gpipe {
  static constexpr char const* name = "in-two-places";

#ifndef WEFT_TWIN
  static constexpr weft::schedule::repetition repeats(int /*ranks*/, int /*micro_batches*/) { return {2, 1}; }
#endif
};

using plan = weft::plan<in_two_places, weft::pipeline_ranks<3>, weft::micro_batches<8>>;
constexpr int tag = plan::report.largest_tag;
