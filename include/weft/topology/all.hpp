// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Everything of topology/: pure C++20, no Kokkos, no MPI.

#include <weft/topology/axis.hpp>
#include <weft/topology/mesh.hpp>
#include <weft/topology/partition.hpp>
#include <weft/topology/placement.hpp>
#include <weft/topology/ranks_along.hpp>
#include <weft/topology/stage_graph.hpp>
#include <weft/topology/vendor.hpp>
