// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace mini_llm {

/// What one report of the training says. Not communicated: the caller has the loss on every rank already.
struct progress_state {
  std::int64_t step = 0;   ///< steps done
  std::int64_t steps = 0;  ///< of so many
  double loss = 0.0;       ///< nats per byte
  double tokens_per_second = 0.0;
  double ideal_share =
      -1.0;  ///< time the schedule would need at the measured cost of its actions / time it took; < 0: unknown
  double seconds_left = -1.0;  ///< < 0: unknown
};

std::string clock_text(double seconds);

std::string rate_text(double per_second);

/// One plain line, for logs.
std::string progress_line(progress_state const& state);

/// One line of at most `width` columns, ASCII: numbers first, a bar in what is left, and numbers given up from the
/// right where the terminal is narrow.
std::string progress_bar(progress_state const& state, int width);

/// Columns of the terminal behind `descriptor`; 80 where it does not say.
int terminal_width(int descriptor);

/// Reports a training: on a terminal one line that is redrawn after every step, elsewhere a line every `every` steps.
/// Remarks (`note`) and the bar do not run into each other.
class progress {
 public:
  /// `width` < 1: ask the terminal behind standard output each time (it may be resized).
  progress(std::ostream& out, bool terminal, std::int64_t every, int width = 0)
      : out_(out),
        terminal_(terminal),
        every_(std::max<std::int64_t>(every, 1)),
        width_(width) {}
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;
  ~progress() { finish(); }

  [[nodiscard]] static bool on_terminal();

  void report(progress_state const& state);

  /// A line of its own, above the bar.
  void note(std::string_view line);

  /// Leaves the bar standing and goes to the next line.
  void finish();

 private:
  std::ostream& out_;
  bool terminal_;
  std::int64_t every_;
  int width_;
  std::string bar_;
};

}  // namespace mini_llm
