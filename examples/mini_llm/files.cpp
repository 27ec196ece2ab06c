// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files.hpp"

namespace mini_llm {

std::string remedy(int error_number) {
  switch (error_number) {
    case ENOENT: return "check the spelling of the path";
    case EACCES:
    case EPERM: return "change its permissions or choose another path";
    case EISDIR: return "name a file, not a directory";
    case ENOTDIR: return "a part of the path is a file; choose another path";
    case ENOSPC: return "free some space there, or point --out at another file system";
    case EDQUOT: return "your quota is used up; free some space, or point --out at another file system";
    case EFBIG: return "raise the limit on file sizes (ulimit -f), or point --out at another file system";
    case EROFS: return "the file system is read-only; choose another path";
    case EMFILE:
    case ENFILE: return "raise the limit on open files (ulimit -n)";
    case ENAMETOOLONG: return "choose a shorter path";
    default: return "check the disk and the path";
  }
}

void fail(std::string const& where, fs::path const& path, std::string const& what, int error_number) {
  throw weft::error("mini_llm::" + where + ": " + path.string() + " " + what + " (" + std::strerror(error_number) +
                    "); " + remedy(error_number));
}

descriptor& descriptor::operator=(descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

void descriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

descriptor open_for_reading(std::string const& where, fs::path const& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) fail(where, path, "cannot be read", errno);
  if (S_ISDIR(facts.st_mode)) fail(where, path, "is not a file", EISDIR);
  if (!S_ISREG(facts.st_mode))
    throw weft::error("mini_llm::" + where + ": " + path.string() +
                      " is not a regular file; write its contents to a file first, and name that");
  descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened.is_open()) fail(where, path, "cannot be read", errno);
  return opened;
}

std::uint64_t size_of_file(std::string const& where, fs::path const& path, descriptor const& file) {
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) fail(where, path, "cannot be read", errno);
  return static_cast<std::uint64_t>(facts.st_size);
}

void read_at(std::string const& where, fs::path const& path, descriptor const& file, std::uint64_t offset, void* data,
             std::size_t bytes) {
  auto* target = static_cast<std::byte*>(data);
  while (bytes > 0) {
    ssize_t const got = ::pread(file.get(), target, std::min(bytes, std::size_t{1} << 30), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(where, path, "cannot be read at byte " + std::to_string(offset), errno);
    if (got == 0)
      throw weft::error("mini_llm::" + where + ": " + path.string() + " ended at byte " + std::to_string(offset) +
                        ", " + std::to_string(bytes) +
                        " bytes early; it was cut short while being read: do not write to it during a run");
    target += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

std::vector<std::uint8_t> read_file(std::string const& where, fs::path const& path) {
  descriptor const file = open_for_reading(where, path);
  std::vector<std::uint8_t> bytes(size_of_file(where, path, file));
  read_at(where, path, file, 0, bytes.data(), bytes.size());
  return bytes;
}

void write_all(std::string const& where, fs::path const& path, descriptor const& file, void const* data,
               std::size_t bytes) {
  auto const* source = static_cast<std::byte const*>(data);
  std::size_t left = bytes;
  while (left > 0) {
    ssize_t const written = ::write(file.get(), source, std::min(left, std::size_t{1} << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      fail(where, path, "could not take " + std::to_string(left) + " of " + std::to_string(bytes) + " bytes", errno);
    source += written;
    left -= static_cast<std::size_t>(written);
  }
}

void sync_directory(std::string const& where, fs::path const& directory) {
  descriptor const opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.is_open()) fail(where, directory, "cannot be opened", errno);
  // Some network file systems cannot sync a directory; the rename is then as durable as they make it.
  if (::fsync(opened.get()) != 0 && errno != EINVAL && errno != ENOTSUP)
    fail(where, directory, "cannot be synced", errno);
}

atomic_file::atomic_file(std::string where, fs::path target, std::uint64_t expected_bytes)
    : where_(std::move(where)),
      target_(std::move(target)),
      partial_(target_.string() + ".partial") {
  file_ = descriptor(::open(partial_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file_.is_open()) fail(where_, target_, "cannot be written", errno);
#if defined(__linux__)
  if (expected_bytes > 0 && ::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(expected_bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    int const number = errno;
    discard();
    fail(where_, target_, "needs " + std::to_string(expected_bytes) + " bytes", number);
  }
#endif
}

void atomic_file::write(void const* data, std::size_t bytes) {
  write_all(where_, target_, file_, data, bytes);
  written_ += bytes;
}

void atomic_file::patch(std::uint64_t offset, std::string_view text) {
  ssize_t const done = ::pwrite(file_.get(), text.data(), text.size(), static_cast<off_t>(offset));
  if (done != static_cast<ssize_t>(text.size()))
    fail(where_, target_, "could not be completed", done < 0 ? errno : EIO);
}

void atomic_file::commit() {
  if (::fsync(file_.get()) != 0) fail(where_, target_, "could not be synced", errno);
  file_.close();
  if (::rename(partial_.c_str(), target_.c_str()) != 0) fail(where_, target_, "could not be put in place", errno);
  committed_ = true;
  sync_directory(where_, target_.has_parent_path() ? target_.parent_path() : fs::path("."));
}

void atomic_file::discard() noexcept {
  if (committed_ || partial_.empty()) return;
  file_.close();
  ::unlink(partial_.c_str());
  committed_ = true;
}

void write_text(std::string const& where, fs::path const& path, std::string_view text) {
  atomic_file file(where, path, text.size());
  file.write(text);
  file.commit();
}

}  // namespace mini_llm
