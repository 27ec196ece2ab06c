// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The schedules that can be named at run time, for all other source files.
#include <weft/schedule/source.hpp>
