// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/// @file
/// POSIX files whose every failure is a sentence: which file, which system error, what to do about it.
/// Nothing here communicates.

namespace mini_llm {

namespace fs = std::filesystem;

/// What a user can do about a system error, for the errors that users meet.
std::string remedy(int error_number);

[[noreturn]] void fail(std::string const& where, fs::path const& path, std::string const& what, int error_number);

/// Owner of one file descriptor.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept;
  descriptor(descriptor const&) = delete;
  descriptor& operator=(descriptor const&) = delete;
  ~descriptor() { close(); }

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
};

/// Opens a regular file for reading. A FIFO or a device is refused before it is opened: reading it could block for
/// ever, or never end, and every rank needs to read the same bytes.
descriptor open_for_reading(std::string const& where, fs::path const& path);

std::uint64_t size_of_file(std::string const& where, fs::path const& path, descriptor const& file);

/// Reads exactly `bytes` bytes at `offset`.
void read_at(std::string const& where, fs::path const& path, descriptor const& file, std::uint64_t offset, void* data,
             std::size_t bytes);

/// The whole of a regular file.
std::vector<std::uint8_t> read_file(std::string const& where, fs::path const& path);

/// Writes all of it at the file's position; an error says how many bytes were wanted.
void write_all(std::string const& where, fs::path const& path, descriptor const& file, void const* data,
               std::size_t bytes);

void sync_directory(std::string const& where, fs::path const& directory);

/// A file that appears under its name only when it is whole: written as `<name>.partial` beside it, synced, renamed.
/// Whatever goes wrong before `commit` removes the partial file and leaves an older file of that name as it was.
class atomic_file {
 public:
  /// `expected_bytes`, when known, are reserved at once, so that a full disk is noticed before any work is done.
  atomic_file(std::string where, fs::path target, std::uint64_t expected_bytes = 0);
  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;
  ~atomic_file() { discard(); }

  void write(void const* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }

  /// Replaces bytes that were written already.
  void patch(std::uint64_t offset, std::string_view text);

  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] fs::path const& target() const { return target_; }

  /// Syncs and renames; the file is durable when this returns.
  void commit();

 private:
  void discard() noexcept;

  std::string where_;
  fs::path target_;
  fs::path partial_;
  descriptor file_;
  std::uint64_t written_ = 0;
  bool committed_ = false;
};

/// Writes a small text file in one go, atomically.
void write_text(std::string const& where, fs::path const& path, std::string_view text);

}  // namespace mini_llm
