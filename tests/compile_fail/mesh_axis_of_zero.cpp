// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::axis: the number of ranks along an axis is zero or negative; use 1 or more, or weft::dynamic

#include <weft/topology/mesh.hpp>

#ifdef WEFT_TWIN
inline constexpr int wide = 1;
#else
inline constexpr int wide = 0;
#endif

constexpr int ranks = weft::mesh<weft::axis<weft::pipeline_axis, wide>>::ranks();
