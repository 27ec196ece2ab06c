// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scratch.hpp"

#include <mini_llm/out_directory.hpp>
#include <mini_llm/safetensors_writer.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <vector>

#include <sys/resource.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/mount.h>
#endif

using weft_test::get;
using weft_test::has;
using weft_test::in_child;
using weft_test::put;
using weft_test::scratch;

namespace {

/// Writes 400,000 bytes of floats over an older file; returns the words of the error, then what stands in the folder.
std::string write_too_much(std::filesystem::path const& folder) {
  std::string const words = weft_test::message_of<weft::error>([&] {
    std::vector<float> const values(100000);
    auto writer = mini_llm::safetensors_writer::create<float>(folder / "file", {{"x", {100000}}}, {}, true);
    writer.write<float>("x", values);
    writer.commit();
  });
  std::string left;
  for (auto const& entry : std::filesystem::directory_iterator(folder)) left += " " + entry.path().filename().string();
  return words + "|" + left + "|" + get(folder / "file");
}

}  // namespace

TEST_CASE("a full device is reported with file, bytes and remedy") {
  mini_llm::descriptor const full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full.is_open()) {
    MESSAGE("skipped: there is no /dev/full here");
    return;
  }
  std::string const words =
      weft_test::message_of<weft::error>([&] { mini_llm::write_all("out", "/dev/full", full, "0123456789", 10); });
  CHECK(words ==
        "mini_llm::out: /dev/full could not take 10 of 10 bytes (No space left on device); free some space there, "
        "or point --out at another file system");
}

#if defined(__linux__)
TEST_CASE("no space left: the older file stays, the partial one goes") {
  scratch folder;
  std::string const told = in_child([&]() -> std::string {
    // A file system of 64 KiB that only this child sees.
    bool const alone = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    if (!alone || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0)
      return "no mount";
    put(folder / "file", "older");
    return write_too_much(folder.path());
  });
  if (told == "no mount") {
    MESSAGE("skipped: this user may not mount a small file system");
    return;
  }
  CAPTURE(told);
  CHECK(has(told, (folder / "file").string() + " needs 400"));  // 400,000 bytes and the header
  CHECK(has(told, "bytes (No space left on device); free some space there, or point --out at another file system"));
  CHECK(told.ends_with("| file|older"));
}
#endif

TEST_CASE("a limit on file sizes is an error with a name, not the end of the process") {
  scratch folder;
  std::string const told = in_child([&] {
    mini_llm::out_directory const out(folder / "out");  // ignores SIGXFSZ
    put(folder / "out/file", "older");
    rlimit const limit{65536, 65536};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return std::string("no limit");
    return write_too_much(folder / "out");
  });
  CAPTURE(told);
  CHECK(has(told, "(File too large); raise the limit on file sizes"));
  CHECK(has(told, "|older"));
  CHECK_FALSE(has(told, ".partial"));
}

TEST_CASE("an atomic file replaces the older one at its commit, not before") {
  scratch folder;
  put(folder / "file", "older");
  {
    mini_llm::atomic_file file("out", folder / "file");
    file.write("newer!");
    CHECK(get(folder / "file") == "older");
    file.patch(5, "?");
    file.commit();
    CHECK(get(folder / "file") == "newer?");
  }
  CHECK(get(folder / "file") == "newer?");
  {
    mini_llm::atomic_file file("out", folder / "file");
    file.write("never");
  }
  CHECK(get(folder / "file") == "newer?");
  CHECK_FALSE(std::filesystem::exists(folder / "file.partial"));
}

TEST_CASE("places that cannot be written are named") {
  scratch folder;
  put(folder / "file", "x");
  auto const words = [](std::filesystem::path const& path) {
    return weft_test::message_of<weft::error>([&] { mini_llm::write_text("out", path, "text"); });
  };
  CHECK(has(words(folder / "missing/file"), "missing/file cannot be written (No such file or directory)"));
  CHECK(has(words(folder / "file/below"), "(Not a directory); a part of the path is a file"));
  CHECK(has(words(folder / std::string(300, 'n')), "(File name too long); choose a shorter path"));
  CHECK(has(weft_test::message_of<weft::error>([&] { mini_llm::out_directory(folder / "file"); }),
            "file cannot be made"));
  CHECK(has(weft_test::message_of<weft::error>([&] { mini_llm::out_directory("/proc/nothing/here"); }),
            "/proc/nothing/here"));
  std::string const as_user = in_child([&]() -> std::string {
    std::filesystem::create_directory(folder / "closed");
    std::filesystem::permissions(folder / "closed",
                                 std::filesystem::perms::owner_exec | std::filesystem::perms::others_exec);
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return "cannot change the user";
    return weft_test::message_of<weft::error>([&] { mini_llm::out_directory(folder / "closed"); });
  });
  CHECK(has(as_user, "closed cannot be written to (Permission denied); change its permissions"));
}

TEST_CASE("one run at a time owns a folder") {
  scratch folder;
  {
    mini_llm::out_directory const first(folder / "out");
    CHECK(has(weft_test::message_of<weft::error>([&] { mini_llm::out_directory(folder / "out"); }),
              "is in use by another run"));
  }
  CHECK_NOTHROW(mini_llm::out_directory(folder / "out"));
}

TEST_CASE("an earlier run is set aside whole; other files and leftovers are told apart") {
  scratch folder;
  for (char const* const name : {"losses.csv", "metrics.jsonl", "checkpoint-10.safetensors", "model.safetensors"})
    put(folder / "out" / name, name);
  put(folder / "out/mine.txt", "mine");
  put(folder / "out/mine.partial", "mine");
  put(folder / "out/checkpoint-20.safetensors.partial", "left by a killed run");
  mini_llm::out_directory out(folder / "out");
  CHECK_FALSE(std::filesystem::exists(folder / "out/checkpoint-20.safetensors.partial"));
  CHECK(out.set_earlier_run_aside() == folder / "out/earlier-1");
  CHECK(get(folder / "out/earlier-1/checkpoint-10.safetensors") == "checkpoint-10.safetensors");
  CHECK(get(folder / "out/earlier-1/losses.csv") == "losses.csv");
  CHECK_FALSE(std::filesystem::exists(out.file("losses.csv")));
  CHECK(get(folder / "out/mine.txt") == "mine");
  CHECK(get(folder / "out/mine.partial") == "mine");
  CHECK(out.set_earlier_run_aside().empty());
  put(out.file("losses.csv"), "second");
  CHECK(out.set_earlier_run_aside() == folder / "out/earlier-2");
  CHECK(get(folder / "out/earlier-1/losses.csv") == "losses.csv");
}
