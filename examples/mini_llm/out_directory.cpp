// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "out_directory.hpp"

namespace mini_llm {

out_directory::out_directory(fs::path path) : path_(std::move(path)) {
  std::error_code code;
  fs::create_directories(path_, code);
  if (code) fail("out", path_, "cannot be made", code.value());
  // A limit on file sizes then comes back as an error with a name instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  fs::path const lock = path_ / ".lock";
  lock_ = descriptor(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock_.is_open()) fail("out", path_, "cannot be written to", errno);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw weft::error("mini_llm::out: " + path_.string() +
                      " is in use by another run; wait for it, or point --out at another folder");
  remove_partial_files();
}

fs::path out_directory::move_aside(std::vector<fs::path> const& found) {
  if (found.empty()) return {};
  fs::path aside;
  for (int number = 1; aside.empty() || fs::exists(aside); ++number)
    aside = path_ / ("earlier-" + std::to_string(number));
  std::error_code code;
  fs::create_directory(aside, code);
  if (code) fail("out", aside, "cannot be made", code.value());
  for (fs::path const& file : found) {
    fs::rename(file, aside / file.filename(), code);
    if (code) fail("out", file, "cannot be moved to " + aside.string(), code.value());
  }
  sync_directory("out", path_);
  return aside;
}

bool out_directory::belongs_to_a_run(std::string const& name) {
  return name == "metrics.jsonl" || name == "losses.csv" || name == "config-run.json" || name == "config.json" ||
         name == "model.safetensors" || name == "sample.txt" ||
         (name.starts_with("checkpoint-") && name.ends_with(".safetensors"));
}

void out_directory::remove_partial_files() const {
  constexpr std::string_view suffix = ".partial";
  std::error_code ignored;
  for (fs::path const& file : find([&](std::string const& name) {
         return name.ends_with(suffix) && belongs_to_a_run(name.substr(0, name.size() - suffix.size()));
       }))
    fs::remove(file, ignored);
}

}  // namespace mini_llm
