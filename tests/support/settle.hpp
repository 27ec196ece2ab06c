// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/error.hpp>
#include <weft/transport/wait.hpp>

/// Waits for one posted message, so that a test that would hang fails.
inline void settle(weft::transport::endpoint& door, weft::transport::request& posted, double seconds = 60.0) {
  weft::transport::wait(door, posted, seconds, [] { throw weft::error("test: a message never came"); });
}
