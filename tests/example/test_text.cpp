// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scratch.hpp"

#include <mini_llm/text.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>

#include <sys/stat.h>

using weft_test::get;
using weft_test::has;
using weft_test::put;
using weft_test::scratch;

namespace {

std::string message(std::filesystem::path const& path) {
  return weft_test::message_of<weft::error>([&] { (void)mini_llm::load_text(path); });
}

std::string as_string(mini_llm::text const& text) { return {text.bytes.begin(), text.bytes.end()}; }

std::span<std::uint8_t const> bytes(std::string const& text) {
  return {reinterpret_cast<std::uint8_t const*>(text.data()), text.size()};
}

}  // namespace

TEST_CASE("a folder is read in the order of its paths, each text once, with a note on all that is left out") {
  scratch folder;
  put(folder / "b.txt", "second ");
  put(folder / "a.txt", "first ");
  put(folder / "deep/er/c.txt", "third ");
  put(folder / "Z.txt", "capitals come before ");
  put(folder / "copy of a.txt", "first ");
  put(folder / "empty.txt", "");
  put(folder / "picture", std::string("PNG\0\1\2", 6));
  put(folder / ".hidden", "not to be seen ");
  put(folder / ".git/config", "not to be seen either ");
  std::filesystem::create_symlink("b.txt", folder / "0-link-to-b");
  std::filesystem::create_directory_symlink("..", folder / "deep/circle");
  std::filesystem::create_symlink("nowhere", folder / "dangling");
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);

  mini_llm::text const text = mini_llm::load_text(folder.path());
  CHECK(as_string(text) == "capitals come before first second third ");
  CHECK(text.documents == std::vector<std::string>{"Z.txt", "a.txt", "b.txt", "deep/er/c.txt"});
  std::string notes;
  for (std::string const& note : text.notes) notes += note + "\n";
  CHECK(has(notes, "0-link-to-b: the same text as another file, left out\n"));
  CHECK(has(notes, "copy of a.txt: the same text as another file, left out\n"));
  CHECK(has(notes, "empty.txt: empty, left out\n"));
  CHECK(has(notes, "picture: binary, left out\n"));
  CHECK(has(notes, "deep/circle: a link to a folder, not entered\n"));
  CHECK(has(notes, "dangling: not a regular file, left out\n"));
  CHECK(has(notes, "fifo: not a regular file, left out\n"));
  CHECK(text.notes.size() == 7);
}

TEST_CASE("a link to a text outside the folder is a text of the folder") {
  scratch outside;
  scratch folder;
  put(outside / "far.txt", "far away");
  std::filesystem::create_symlink(outside / "far.txt", folder / "near.txt");
  CHECK(as_string(mini_llm::load_text(folder.path())) == "far away");
}

TEST_CASE("the last tenth is for validation, and the hash is that of the bytes") {
  scratch folder;
  std::string content;
  for (int line = 0; line < 100; ++line) content += "line " + std::to_string(line) + " of it\n";
  put(folder / "text", content);
  mini_llm::text const text = mini_llm::load_text(folder / "text");
  CHECK(text.validation().size() == content.size() / 10);
  CHECK(text.training().size() + text.validation().size() == content.size());
  CHECK(std::string(text.validation().begin(), text.validation().end()) ==
        content.substr(content.size() - content.size() / 10));
  CHECK(text.hash == XXH3_64bits(content.data(), content.size()));
  content[5] = 'x';
  put(folder / "text", content);
  CHECK(mini_llm::load_text(folder / "text").hash != text.hash);
}

TEST_CASE("a file that is named is taken even if it looks binary, with a note") {
  scratch folder;
  put(folder / "x", std::string("ab\0cd", 5));
  mini_llm::text const text = mini_llm::load_text(folder / "x");
  CHECK(text.bytes.size() == 5);
  REQUIRE(text.notes.size() == 1);
  CHECK(has(text.notes[0], "zero bytes"));
}

TEST_CASE("data that cannot be learnt from is refused with cause and remedy") {
  scratch folder;
  put(folder / "empty", "");
  put(folder / "none/picture", std::string("\0", 1));
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK(has(message(folder / "missing"), "missing cannot be read (No such file or directory); check the spelling"));
  CHECK(has(message(folder / "empty"), "empty is empty; name a file with text in it"));
  CHECK(has(message(folder / "none"), "holds no text (1 files looked at); name a file or folder with text in it"));
  CHECK(has(message(folder / "fifo"), "fifo is not a regular file; write its contents to a file first"));
  CHECK(has(message("/dev/zero"), "/dev/zero is not a regular file"));
  CHECK(has(message(folder / "empty/below"), "(Not a directory)"));
}

TEST_CASE("an unreadable file is refused by name, alone and inside a folder") {
  scratch folder;
  put(folder / "open", "some text");
  put(folder / "secret", "some other text");
  put(folder / "shut/inside", "text");
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all | std::filesystem::perms::group_all |
                                                  std::filesystem::perms::others_all);
  std::filesystem::permissions(folder / "secret", std::filesystem::perms::none);
  // Root may read everything, so a child that is root becomes nobody first.
  auto const as_user = [](std::filesystem::path const& path) {
    return weft_test::in_child([&]() -> std::string {
      if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return "cannot change the user";
      return message(path);
    });
  };
  CHECK(has(as_user(folder / "secret"), "secret cannot be read (Permission denied); change its permissions"));
  CHECK(has(as_user(folder.path()), "secret cannot be read (Permission denied); change its permissions"));
  std::filesystem::permissions(folder / "secret", std::filesystem::perms::all);
  std::filesystem::permissions(folder / "shut", std::filesystem::perms::none);
  CHECK(has(as_user(folder.path()), "(Permission denied)"));
  std::filesystem::permissions(folder / "shut", std::filesystem::perms::owner_all);
}

TEST_CASE("a sequence longer than the data is refused with the longest possible one") {
  scratch folder;
  put(folder / "text", std::string(1000, 'a') + "b");  // 901 bytes to train on, 100 to validate on
  mini_llm::text const text = mini_llm::load_text(folder / "text");
  CHECK(text.longest_sequence() == 99);
  CHECK_NOTHROW(mini_llm::require_sequence_fits(text, 99));
  std::string const refused = weft_test::message_of<weft::error>([&] { mini_llm::require_sequence_fits(text, 100); });
  CHECK(has(refused,
            "--seq 100 is longer than the data (901 bytes to train on, 100 to validate on); the largest possible here "
            "is 99"));
  put(folder / "short", "abcdefghi");
  mini_llm::text const tiny = mini_llm::load_text(folder / "short");
  CHECK(has(weft_test::message_of<weft::error>([&] { mini_llm::require_sequence_fits(tiny, 1); }),
            "at least 20 bytes are needed"));
}

TEST_CASE("bigram entropy: known values, in nats") {
  CHECK(mini_llm::bigram_entropy(bytes("")) == 0.0);
  CHECK(mini_llm::bigram_entropy(bytes("a")) == 0.0);
  CHECK(mini_llm::bigram_entropy(bytes("abababababab")) == 0.0);  // the next byte is certain
  // Pairs aa, ab, ba: two from a (one each way), one from b: (2 ln 2 + 0) / 3.
  CHECK(mini_llm::bigram_entropy(bytes("aaba")) == doctest::Approx(2.0 * std::log(2.0) / 3.0).epsilon(1e-15));
  std::mt19937 random(1);
  std::string noise;
  for (int index = 0; index < 400000; ++index) noise += static_cast<char>('a' + random() % 4);
  CHECK(mini_llm::bigram_entropy(bytes(noise)) == doctest::Approx(std::log(4.0)).epsilon(1e-3));
}

TEST_CASE("the verbatim share finds what can be recited") {
  std::mt19937 random(2);
  auto const noise = [&](int count) {
    std::string text;
    for (int index = 0; index < count; ++index) text += static_cast<char>('a' + random() % 26);
    return text;
  };
  std::string const training = noise(5000);
  CHECK(mini_llm::verbatim_share(bytes(training), bytes(noise(1000))) == 0.0);
  CHECK(mini_llm::verbatim_share(bytes(training), bytes(training.substr(1234, 600))) == 1.0);
  CHECK(mini_llm::verbatim_share(bytes(training), bytes(training.substr(5000 - 32))) == 1.0);  // the very last window
  CHECK(mini_llm::verbatim_share(bytes(training), bytes(training.substr(0, 32))) == 1.0);      // the very first one
  double const half = mini_llm::verbatim_share(bytes(training), bytes(training.substr(0, 1031) + noise(1000)));
  CHECK(half == doctest::Approx(0.5).epsilon(0.01));
  CHECK(mini_llm::verbatim_share(bytes("short"), bytes("short")) == 0.0);
}

TEST_CASE("Debian's licence texts, where they are, come without doubles" *
          doctest::skip(!std::filesystem::is_directory("/usr/share/common-licenses"))) {
  mini_llm::text const text = mini_llm::load_text(mini_llm::default_data("docs"));
  std::uintmax_t real_files = 0;
  for (auto const& entry : std::filesystem::directory_iterator("/usr/share/common-licenses"))
    if (entry.is_regular_file() && !entry.is_symlink()) real_files += entry.file_size();
  CHECK(text.bytes.size() == real_files);
  CHECK(mini_llm::bigram_entropy(text.validation()) > 1.5);
  CHECK(mini_llm::bigram_entropy(text.validation()) < 3.0);
}
