// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::mesh: an axis is named twice; keep one

#include <weft/topology/mesh.hpp>

#ifdef WEFT_TWIN
using second = weft::data_axis;
#else
using second = weft::pipeline_axis;
#endif

constexpr int ranks = weft::mesh<weft::axis<weft::pipeline_axis, 4>, weft::axis<second, 2>>::ranks();
