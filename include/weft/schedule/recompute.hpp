// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

/// What a stage keeps between F and its backward: a policy, independent of the schedule. Both give the same bits.
///
///     none  F0 F1 B0 B1              keeps all activations of up to `peak_activations` micro-batches
///     full  F0 F1 R0 B0 R1 B1        keeps the stage's inputs; activations of one micro-batch at a time
///
/// `full` costs one more forward per micro-batch (idle and busy time grow by M T_F at most) and lets deep 1F1B or GPipe
/// fit. Recompute runs once per micro-batch, before I where backward is split. Chen et al., arXiv 1604.06174.
namespace weft::inline v1::schedule::recompute {

struct none {
  static constexpr bool recomputes = false;
};
struct full {
  static constexpr bool recomputes = true;
};

}  // namespace weft::inline v1::schedule::recompute
