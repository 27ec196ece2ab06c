// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstdint>

namespace weft::inline v1 {

/// When an action of a step ran, in seconds since the step began on this rank. Of a compute action or a collective: the
/// work alone, without the wait before it. Of a post: from the post to the moment at which the message was found to be
/// complete: when its buffer was next needed, or a computation polled for progress, not when the last byte moved.
struct action_time {
  double begin = 0.0;
  double end = 0.0;
  std::int64_t bytes = 0;  ///< of a post: the whole message
};

}  // namespace weft::inline v1
