// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

namespace weft_tool {

struct event {
  std::string kind;  ///< push, pop, parallel_for, parallel_reduce, parallel_scan, fence, allocate, copy to, copy from
  std::string name;
};
using events = std::vector<event>;

/// `weft_tool_take` of recorder.cpp, found in the library that Kokkos loaded: what happened since the last call.
using take_function = void (*)(events*);

}  // namespace weft_tool
