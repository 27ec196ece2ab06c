// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <csignal>

namespace mini_llm {

namespace detail {
inline volatile std::sig_atomic_t is_stop_wanted = 0;
extern "C" inline void want_stop(int) { is_stop_wanted = 1; }
}  // namespace detail

/// While this object lives, SIGTERM and SIGINT ask for an orderly end: the step that runs is finished, a checkpoint is
/// saved. A second one, and any before or after, ends the process at once.
class stop_signals {
 public:
  stop_signals() {
    struct sigaction action = {};
    action.sa_handler = &detail::want_stop;
    action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
    sigaction(SIGTERM, &action, &terminate_);
    sigaction(SIGINT, &action, &interrupt_);
  }
  stop_signals(stop_signals const&) = delete;
  stop_signals& operator=(stop_signals const&) = delete;
  ~stop_signals() {
    sigaction(SIGTERM, &terminate_, nullptr);
    sigaction(SIGINT, &interrupt_, nullptr);
  }

 private:
  struct sigaction terminate_ = {};
  struct sigaction interrupt_ = {};
};

inline bool is_stop_wanted() { return detail::is_stop_wanted != 0; }

}  // namespace mini_llm
