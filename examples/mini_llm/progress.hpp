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

inline std::string clock_text(double seconds) {
  if (!(seconds >= 0.0) || seconds > 1e8) return "-:--";
  auto const whole = static_cast<long long>(seconds + 0.5);
  char text[32];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  return text;
}

inline std::string rate_text(double per_second) {
  char text[32];
  if (per_second >= 1e6)
    std::snprintf(text, sizeof text, "%.1fM tok/s", per_second / 1e6);
  else if (per_second >= 1e4)
    std::snprintf(text, sizeof text, "%.1fk tok/s", per_second / 1e3);
  else
    std::snprintf(text, sizeof text, "%.0f tok/s", per_second);
  return text;
}

/// One plain line, for logs.
inline std::string progress_line(progress_state const& state) {
  char text[64];
  std::snprintf(text, sizeof text, "step %lld/%lld  loss %.4f  ", static_cast<long long>(state.step),
                static_cast<long long>(state.steps), state.loss);
  std::string line = text + rate_text(state.tokens_per_second);
  if (state.ideal_share >= 0.0) {
    std::snprintf(text, sizeof text, "  %.0f %% of the schedule's ideal", 100.0 * state.ideal_share);
    line += text;
  }
  return line + "  " + clock_text(state.seconds_left) + " left";
}

/// One line of at most `width` columns, ASCII: numbers first, a bar in what is left, and numbers given up from the
/// right where the terminal is narrow.
inline std::string progress_bar(progress_state const& state, int width) {
  char text[64];
  std::snprintf(text, sizeof text, "%lld/%lld", static_cast<long long>(state.step),
                static_cast<long long>(state.steps));
  std::string line = text;
  std::snprintf(text, sizeof text, "loss %.4f", state.loss);
  std::string parts[4] = {text, rate_text(state.tokens_per_second), "", clock_text(state.seconds_left) + " left"};
  if (state.ideal_share >= 0.0) {
    std::snprintf(text, sizeof text, "%.0f%% of ideal", 100.0 * state.ideal_share);
    parts[2] = text;
  }
  auto const columns = static_cast<std::size_t>(std::max(width, 1));
  // What matters most comes first: the loss, the time left, the rate, the share.
  bool shown[4] = {};
  std::size_t used = line.size();
  for (int const part : {0, 3, 1, 2}) {
    if (parts[part].empty() || used + 2 + parts[part].size() > columns) continue;
    shown[part] = true;
    used += 2 + parts[part].size();
  }
  constexpr std::size_t shortest_bar = 8;
  if (columns >= used + shortest_bar + 4) {
    std::size_t const length = std::min<std::size_t>(columns - used - 4, 40);
    double const done = state.steps > 0 ? static_cast<double>(state.step) / static_cast<double>(state.steps) : 1.0;
    auto const filled = static_cast<std::size_t>(std::clamp(done, 0.0, 1.0) * static_cast<double>(length));
    line += "  [" + std::string(filled, '#') + std::string(length - filled, '.') + "]";
  }
  for (int part = 0; part < 4; ++part)
    if (shown[part]) line += "  " + parts[part];
  return line.substr(0, columns);
}

/// Columns of the terminal behind `descriptor`; 80 where it does not say.
inline int terminal_width(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  char const* const columns = std::getenv("COLUMNS");
  int const width = columns != nullptr ? std::atoi(columns) : 0;
  return width > 0 ? width : 80;
}

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

  [[nodiscard]] static bool on_terminal() {
    char const* const kind = std::getenv("TERM");
    return ::isatty(STDOUT_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
  }

  void report(progress_state const& state) {
    if (terminal_) {
      // One column stays free: a full last column would make some terminals wrap.
      bar_ = progress_bar(state, (width_ > 0 ? width_ : terminal_width(STDOUT_FILENO)) - 1);
      out_ << '\r' << bar_ << "\x1b[K" << std::flush;
    } else if (state.step == 1 || state.step % every_ == 0 || state.step == state.steps) {
      out_ << progress_line(state) << '\n' << std::flush;
    }
  }

  /// A line of its own, above the bar.
  void note(std::string_view line) {
    if (!bar_.empty()) out_ << "\r\x1b[K";
    out_ << line << '\n';
    if (!bar_.empty()) out_ << bar_;
    out_ << std::flush;
  }

  /// Leaves the bar standing and goes to the next line.
  void finish() {
    if (!bar_.empty()) out_ << '\n' << std::flush;
    bar_.clear();
  }

 private:
  std::ostream& out_;
  bool terminal_;
  std::int64_t every_;
  int width_;
  std::string bar_;
};

}  // namespace mini_llm
