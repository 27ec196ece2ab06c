// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "files.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include <sys/file.h>

namespace mini_llm {

/// The folder that `--out` names. One process (rank 0) owns it at a time; another one is refused, since both would
/// write the same files. The lock ends with the process, however it ends. Does not communicate.
class out_directory {
 public:
  explicit out_directory(fs::path path);

  [[nodiscard]] fs::path const& path() const { return path_; }
  [[nodiscard]] fs::path file(std::string const& name) const { return path_ / name; }

  /// Moves what an earlier run left here into `earlier-<n>`, n counting up, so that nothing of it is overwritten or
  /// taken for this run's. Returns that folder, empty if there was nothing. Not on a resume; after all checks, and
  /// after
  /// --init was read, which may name a file in here.
  fs::path set_earlier_run_aside() { return move_aside(find(belongs_to_a_run)); }

  /// Moves files of this folder into a new `earlier-<n>`; returns that folder, empty if there are none.
  fs::path move_aside(std::vector<fs::path> const& found);

 private:
  static bool belongs_to_a_run(std::string const& name);

  template <class Predicate>
  [[nodiscard]] std::vector<fs::path> find(Predicate wanted) const {
    std::vector<fs::path> found;
    std::error_code code;
    for (fs::directory_iterator entry(path_, code); !code && entry != fs::directory_iterator(); entry.increment(code))
      if (wanted(entry->path().filename().string())) found.push_back(entry->path());
    if (code) fail("out", path_, "cannot be listed", code.value());
    std::sort(found.begin(), found.end());
    return found;
  }

  /// What a killed run was writing. Nobody else writes here now, so they can only be leftovers.
  void remove_partial_files() const;

  fs::path path_;
  descriptor lock_;
};

}  // namespace mini_llm
