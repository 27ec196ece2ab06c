// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Everything of plan/ (whose plan.hpp is the class template `plan`): pure C++20, no Kokkos, no MPI.

#include <weft/plan/errors.hpp>
#include <weft/plan/memory.hpp>
#include <weft/plan/plan.hpp>
#include <weft/plan/policies.hpp>
#include <weft/plan/precision.hpp>
#include <weft/plan/proof.hpp>
#include <weft/plan/rank_capacities.hpp>
#include <weft/plan/report.hpp>
#include <weft/plan/stage_requirements.hpp>
#include <weft/plan/static_program.hpp>
