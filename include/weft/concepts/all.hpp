// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// All concepts. Pure C++20.

#include <weft/concepts/collective_policy.hpp>
#include <weft/concepts/pipeline_stage.hpp>
#include <weft/concepts/plannable_model.hpp>
#include <weft/concepts/schedule_policy.hpp>
