// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Everything of collective/: pure C++20, no Kokkos, no MPI.

#include <weft/collective/all_reduce.hpp>
#include <weft/collective/association.hpp>
#include <weft/collective/binomial_tree.hpp>
#include <weft/collective/by_groups.hpp>
#include <weft/collective/check.hpp>
#include <weft/collective/hierarchical.hpp>
#include <weft/collective/play_locally.hpp>
#include <weft/collective/recursive_doubling.hpp>
#include <weft/collective/recursive_halving.hpp>
#include <weft/collective/ring.hpp>
#include <weft/collective/step_list.hpp>
