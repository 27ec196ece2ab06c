// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "metrics.hpp"

namespace mini_llm {

line_log line_log::start(fs::path const& path, std::string_view header) {
  line_log log(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC);
  if (!header.empty()) log.append(header);
  return log;
}

void line_log::append(std::string_view lines) {
  std::uint64_t const before = size_of_file("metrics", path_, file_);
  try {
    write_all("metrics", path_, file_, lines.data(), lines.size());
  } catch (...) {
    if (::ftruncate(file_.get(), static_cast<off_t>(before)) != 0) { /* the first error is the one to report */
    }
    throw;
  }
}

void line_log::sync() {
  if (::fsync(file_.get()) != 0) fail("metrics", path_, "could not be synced", errno);
}

line_log::line_log(fs::path path, int flags) : path_(std::move(path)) {
  file_ = descriptor(::open(path_.c_str(), flags, 0644));
  if (!file_.is_open()) fail("metrics", path_, "cannot be written", errno);
}

loss_log loss_log::resume(fs::path const& path, std::int64_t last_step) {
  return loss_log(line_log::resume(path, header, last_step, [](std::string_view line) -> std::optional<std::int64_t> {
    std::int64_t step = 0;
    auto const [end, problem] = std::from_chars(line.data(), line.data() + line.size(), step);
    bool const two_commas = std::count(line.begin(), line.end(), ',') == 2;
    if (problem != std::errc() || end == line.data() + line.size() || *end != ',' || !two_commas) return std::nullopt;
    return step;
  }));
}

void loss_log::append(std::int64_t step, double loss) {
  char line[96];
  int const length = std::snprintf(line, sizeof line, "%lld,%a,%.9g\n", static_cast<long long>(step), loss, loss);
  log_.append(std::string_view(line, static_cast<std::size_t>(length)));
}

metrics_log metrics_log::resume(fs::path const& path, std::int64_t last_step) {
  return metrics_log(line_log::resume(path, "", last_step, [](std::string_view line) -> std::optional<std::int64_t> {
    auto const object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer()) return std::nullopt;
    return object["step"].get<std::int64_t>();
  }));
}

void metrics_log::append(std::string const& kind, std::int64_t step, nlohmann::ordered_json const& values) {
  nlohmann::ordered_json object{{"kind", kind}, {"step", step}};
  object.update(values);
  log_.append(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace mini_llm
