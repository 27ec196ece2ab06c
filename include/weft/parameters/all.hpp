// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Parameters: descriptors and store. Needs Kokkos.

#include <weft/parameters/parameter_descriptor.hpp>
#include <weft/parameters/parameter_store.hpp>
