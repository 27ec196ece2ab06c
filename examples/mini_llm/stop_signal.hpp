// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <csignal>

namespace mini_llm {

namespace detail {
inline volatile std::sig_atomic_t is_stop_wanted = 0;
extern "C" inline void want_stop(int) { is_stop_wanted = 1; }
}  // namespace detail

/// From here on SIGTERM and SIGINT ask for an orderly end: the step that runs is finished, a checkpoint is saved. A
/// second one ends the process at once.
inline void catch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = &detail::want_stop;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

inline bool is_stop_wanted() { return detail::is_stop_wanted != 0; }

}  // namespace mini_llm
