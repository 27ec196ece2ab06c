// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Kernels' ground: Kokkos versions, maths, BLAS, sums, random numbers.

#include <weft/execution/add_received.hpp>
#include <weft/execution/allocate.hpp>
#include <weft/execution/blas.hpp>
#include <weft/execution/blas_reduced.hpp>
#include <weft/execution/build_facts.hpp>
#include <weft/execution/column_team.hpp>
#include <weft/execution/device.hpp>
#include <weft/execution/device_runtime.hpp>
#include <weft/execution/graph.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/lanes.hpp>
#include <weft/execution/marks.hpp>
#include <weft/execution/math.hpp>
#include <weft/execution/math_mode.hpp>
#include <weft/execution/mirror.hpp>
#include <weft/execution/pinned.hpp>
#include <weft/execution/random.hpp>
#include <weft/execution/recording.hpp>
#include <weft/execution/reduce.hpp>
#include <weft/execution/reduce_team.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/execution/row_team.hpp>
