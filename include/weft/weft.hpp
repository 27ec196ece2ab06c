// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// All of weft. Needs Kokkos, MPI and a BLAS; the folders' own umbrellas (`weft/<folder>/all.hpp`) need less, and those
/// of topology, schedule, collective and plan need nothing but C++20.

#include <weft/collective/all.hpp>
#include <weft/concepts/all.hpp>
#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/all.hpp>
#include <weft/model/all.hpp>
#include <weft/parameters/all.hpp>
#include <weft/pipeline/all.hpp>
#include <weft/plan/all.hpp>
#include <weft/profiling/all.hpp>
#include <weft/schedule/all.hpp>
#include <weft/topology/all.hpp>
#include <weft/train/all.hpp>
#include <weft/transport/all.hpp>
