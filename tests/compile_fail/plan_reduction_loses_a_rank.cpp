// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::plan: the collective of reduce_gradients does not give every data rank each gradient once and added in
// one order

#include <weft/plan/plan.hpp>

// Everybody adds what its neighbour had: right for two ranks, a loss for three.
struct neighbourly {
  static constexpr char const* name = "neighbourly";
  static constexpr weft::collective::step_list all_reduce(int ranks) {
    using weft::collective::arrival;
    using weft::collective::step;
    weft::collective::step_list list{ranks, 1, ranks > 1 ? 1 : 0, weft::detail::buffer<step>(ranks > 1 ? ranks : 0)};
    for (int rank = 0; ranks > 1 && rank < ranks; ++rank)
      list.steps[rank] = step{0, rank, (rank + 1) % ranks, 0, arrival::add};
    return list;
  }
};

#ifdef WEFT_TWIN
inline constexpr int data_ranks = 2;
#else
inline constexpr int data_ranks = 3;
#endif

using plan = weft::plan<weft::schedule::one_f_one_b, weft::micro_batches<8>, weft::reduce_gradients<neighbourly>,
                        weft::mesh<weft::axis<weft::pipeline_axis, 2>, weft::axis<weft::data_axis, data_ranks>>>;
constexpr bool recomputes = plan::recomputes;
