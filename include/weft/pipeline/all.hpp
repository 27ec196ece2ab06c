// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The engine. Needs Kokkos.

#include <weft/pipeline/boundary.hpp>
#include <weft/pipeline/boundary_view.hpp>
#include <weft/pipeline/instructions.hpp>
#include <weft/pipeline/logical_order.hpp>
#include <weft/pipeline/pipeline.hpp>
#include <weft/pipeline/stage_context.hpp>
#include <weft/pipeline/wire_buffer.hpp>
#include <weft/pipeline/wire_header.hpp>
