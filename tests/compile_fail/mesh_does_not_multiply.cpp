// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::mesh: the axes do not multiply to the world

#include <weft/topology/mesh.hpp>

// 4 x 2 ranks in a world of 8, not of 6.
using mesh = weft::mesh<weft::axis<weft::pipeline_axis, 4>, weft::axis<weft::data_axis, 2>>;
#ifdef WEFT_TWIN
static_assert(weft::mesh_fits<mesh, 8>);
#else
static_assert(weft::mesh_fits<mesh, 6>);
#endif
