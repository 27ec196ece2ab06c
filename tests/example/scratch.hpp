// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sys/wait.h>
#include <unistd.h>

/// @file
/// What the tests of the example's files share: a folder that goes away again, whole files in one call, the words of an
/// error, and children that lose a privilege.

namespace weft_test {

namespace fs = std::filesystem;

/// A new folder, open to every user, removed with all that is in it.
class scratch {
 public:
  scratch() {
    std::string name = (fs::temp_directory_path() / "weft-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder can be made in " + name);
    path_ = name;
    fs::permissions(path_, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  }
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  ~scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  [[nodiscard]] fs::path const& path() const { return path_; }
  [[nodiscard]] fs::path operator/(std::string const& name) const { return path_ / name; }

 private:
  fs::path path_;
};

inline void put(fs::path const& path, std::string_view content) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file.flush()) throw std::runtime_error("the test cannot write " + path.string());
}

inline std::string get(fs::path const& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("the test cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The words of the exception that `action` throws; empty if it throws none. Anything but `Error` goes on.
template <class Error, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (Error const& error) {
    return error.what();
  }
  return {};
}

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// What `action` returns in a child process, so that it may give up privileges or be killed. "killed by <n>" if it was.
template <class Action>
std::string in_child(Action action) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  pid_t const child = ::fork();
  if (child < 0) throw std::runtime_error("no child");
  if (child == 0) {
    std::string answer;
    try {
      answer = action();
    } catch (std::exception const& error) {
      answer = std::string("threw: ") + error.what();
    }
    bool const told = ::write(ends[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  std::string answer;
  char piece[4096];
  for (ssize_t got; (got = ::read(ends[0], piece, sizeof piece)) > 0;)
    answer.append(piece, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? "killed by " + std::to_string(WTERMSIG(status)) : answer;
}

}  // namespace weft_test
