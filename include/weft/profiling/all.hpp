// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// What a step took, for Kokkos tools and as timelines. Needs Kokkos.

#include <weft/profiling/action_time.hpp>
#include <weft/profiling/chrome_trace.hpp>
#include <weft/profiling/clock_offset.hpp>
#include <weft/profiling/kokkos_tools.hpp>
#include <weft/profiling/measured_costs.hpp>
#include <weft/profiling/trace.hpp>
