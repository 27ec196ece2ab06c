// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Everything of schedule/: pure C++20, no Kokkos, no MPI.

#include <weft/schedule/action.hpp>
#include <weft/schedule/breadth_first.hpp>
#include <weft/schedule/candidate.hpp>
#include <weft/schedule/checked_program.hpp>
#include <weft/schedule/chimera.hpp>
#include <weft/schedule/compare_schedules.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/cost_model.hpp>
#include <weft/schedule/cost_of_pipelines.hpp>
#include <weft/schedule/costs.hpp>
#include <weft/schedule/csv.hpp>
#include <weft/schedule/delay_report.hpp>
#include <weft/schedule/digest.hpp>
#include <weft/schedule/dual_pipe.hpp>
#include <weft/schedule/dual_pipe_v.hpp>
#include <weft/schedule/eager_1f1b.hpp>
#include <weft/schedule/figures.hpp>
#include <weft/schedule/fixed.hpp>
#include <weft/schedule/forward_only.hpp>
#include <weft/schedule/forward_program.hpp>
#include <weft/schedule/gpipe.hpp>
#include <weft/schedule/interleaved_1f1b.hpp>
#include <weft/schedule/interleaved_zero_bubble.hpp>
#include <weft/schedule/latency_aware.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/picture.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/recompute.hpp>
#include <weft/schedule/registry.hpp>
#include <weft/schedule/serial.hpp>
#include <weft/schedule/shape.hpp>
#include <weft/schedule/spread_costs.hpp>
#include <weft/schedule/table.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/schedule/timing.hpp>
#include <weft/schedule/v_half.hpp>
#include <weft/schedule/v_min.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/schedule/verdict.hpp>
#include <weft/schedule/wave.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/schedule/zero_bubble_auto.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>
#include <weft/schedule/zero_bubble_h2.hpp>
#include <weft/schedule/zero_bubble_v.hpp>
