// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::mesh: two axes are dynamic; give one of them a number

#include <weft/topology/mesh.hpp>

#ifdef WEFT_TWIN
inline constexpr int wide = 2;
#else
inline constexpr int wide = weft::dynamic;
#endif

constexpr int ranks =
    weft::mesh<weft::axis<weft::pipeline_axis, weft::dynamic>, weft::axis<weft::data_axis, wide>>::ranks();
