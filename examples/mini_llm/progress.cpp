// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "progress.hpp"

namespace mini_llm {

std::string clock_text(double seconds) {
  if (!(seconds >= 0.0) || seconds > 1e8) return "-:--";
  auto const whole = static_cast<long long>(seconds + 0.5);
  char text[32];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  return text;
}

std::string rate_text(double per_second) {
  char text[32];
  if (per_second >= 1e6)
    std::snprintf(text, sizeof text, "%.1fM tok/s", per_second / 1e6);
  else if (per_second >= 1e4)
    std::snprintf(text, sizeof text, "%.1fk tok/s", per_second / 1e3);
  else
    std::snprintf(text, sizeof text, "%.0f tok/s", per_second);
  return text;
}

std::string progress_line(progress_state const& state) {
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

std::string progress_bar(progress_state const& state, int width) {
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

int terminal_width(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  char const* const columns = std::getenv("COLUMNS");
  int const width = columns != nullptr ? std::atoi(columns) : 0;
  return width > 0 ? width : 80;
}

bool progress::on_terminal() {
  char const* const kind = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

void progress::report(progress_state const& state) {
  if (terminal_) {
    // One column stays free: a full last column would make some terminals wrap.
    bar_ = progress_bar(state, (width_ > 0 ? width_ : terminal_width(STDOUT_FILENO)) - 1);
    out_ << '\r' << bar_ << "\x1b[K" << std::flush;
  } else if (state.step == 1 || state.step % every_ == 0 || state.step == state.steps) {
    out_ << progress_line(state) << '\n' << std::flush;
  }
}

void progress::note(std::string_view line) {
  if (!bar_.empty()) out_ << "\r\x1b[K";
  out_ << line << '\n';
  if (!bar_.empty()) out_ << bar_;
  out_ << std::flush;
}

void progress::finish() {
  if (!bar_.empty()) out_ << '\n' << std::flush;
  bar_.clear();
}

}  // namespace mini_llm
