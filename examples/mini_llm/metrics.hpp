// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "files.hpp"

#include <weft/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

/// @file
/// `losses.csv` and `metrics.jsonl`: one line per step or event, handed to the operating system at once, so that a
/// killed run loses nothing that it reported. Does not communicate; written by one rank.

namespace mini_llm {

/// A text file that grows by whole lines and, on a resume, is first cut back to the lines of the steps that count.
class line_log {
 public:
  /// Starts an empty file with `header` (which may be empty).
  static line_log start(fs::path const& path, std::string_view header);

  /// Goes on with a file: keeps the header and the lines before the first one for which `step_of` says more than
  /// `last_step`, or nothing (a line that was cut by a crash). A file that does not exist is started. Errors: the file
  /// begins with another header.
  template <class StepOf>
  static line_log resume(fs::path const& path, std::string_view header, std::int64_t last_step, StepOf step_of) {
    std::error_code code;
    if (!fs::exists(path, code)) return start(path, header);
    auto const bytes = read_file("metrics", path);
    std::string_view const whole(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    if (whole.size() < header.size() && header.starts_with(whole)) return start(path, header);
    if (!whole.starts_with(header))
      throw weft::error("mini_llm::metrics: " + path.string() +
                        " was not written by mini_llm; move it away, or point --out at another folder");
    std::size_t keep = header.size();
    std::optional<std::int64_t> last;
    for (std::size_t end; (end = whole.find('\n', keep)) != std::string_view::npos; keep = end + 1) {
      std::optional<std::int64_t> const step = step_of(whole.substr(keep, end - keep));
      if (!step || *step > last_step) break;
      last = step;
    }
    line_log log(path, O_RDWR | O_APPEND | O_CLOEXEC);
    log.last_kept_ = last;
    if (::ftruncate(log.file_.get(), static_cast<off_t>(keep)) != 0) fail("metrics", path, "cannot be cut back", errno);
    return log;
  }

  /// The step of the last line that a resume found and kept.
  [[nodiscard]] std::optional<std::int64_t> last_kept() const { return last_kept_; }

  /// `lines` end with a line end. An append that fails half-way (a full disk) is taken back.
  void append(std::string_view lines);

  /// Makes what was appended durable: call before a checkpoint that relies on it is put in place.
  void sync();

 private:
  line_log(fs::path path, int flags);

  fs::path path_;
  descriptor file_;
  std::optional<std::int64_t> last_kept_;
};

/// `step,loss_hex,loss`: the loss of each training step, exactly (C's %a) and readable. Two runs that agree bit for bit
/// have equal files; so has a run that was resumed.
class loss_log {
 public:
  static constexpr std::string_view header = "step,loss_hex,loss\n";

  static loss_log start(fs::path const& path) { return loss_log(line_log::start(path, header)); }
  static loss_log resume(fs::path const& path, std::int64_t last_step);

  void append(std::int64_t step, double loss);
  void sync() { log_.sync(); }

  /// After a resume: the last step whose loss the file holds. It is the resumed step unless the file was lost.
  [[nodiscard]] std::optional<std::int64_t> last_kept() const { return log_.last_kept(); }

 private:
  explicit loss_log(line_log log) : log_(std::move(log)) {}
  line_log log_;
};

/// One JSON object per line; every one has "kind" and "step". Times differ from run to run, so only losses.csv is
/// promised to be equal.
class metrics_log {
 public:
  static metrics_log start(fs::path const& path) { return metrics_log(line_log::start(path, "")); }
  static metrics_log resume(fs::path const& path, std::int64_t last_step);

  /// Numbers that are not finite become null: JSON has none.
  void append(std::string const& kind, std::int64_t step, nlohmann::ordered_json const& values);
  void sync() { log_.sync(); }

 private:
  explicit metrics_log(line_log log) : log_(std::move(log)) {}
  line_log log_;
};

}  // namespace mini_llm
