// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "files.hpp"

#include <weft/error.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

/// @file
/// The text that is learnt: bytes are tokens (vocabulary 256).
///
/// Documents are put end to end in the order of their paths. The last tenth of the whole is the validation part; the
/// rest is for training. A cut through the whole, and not a tail of each document, because documents of one folder
/// often exist in several editions whose ends are the same: of the licence texts' tails 11 % would stand word for word
/// (64 bytes) in the training part, of the last tenth of the whole 0.1 %. `verbatim_share` measures it for any text.

namespace mini_llm {

/// H(next | previous) of a text in nats per byte: -sum over pairs (a, b) of p(a, b) ln p(b | a), the pairs counted in
/// that very text. No model that sees one byte back can have a lower loss on it, not even one fitted to it; a
/// validation loss clearly below it shows that longer contexts were learnt. Added in order, so equal on all machines.
double bigram_entropy(std::span<std::uint8_t const> text);

/// Share (0..1) of validation passages of `width` bytes that also stand in `training`, from at most 4,096 evenly spaced
/// ones: how much of the validation could be recited rather than predicted.
double verbatim_share(std::span<std::uint8_t const> training, std::span<std::uint8_t const> validation,
                      std::size_t width = 32);

/// A loaded text. The same on every rank that reads the same files; `hash` goes into the ranks' fingerprint.
struct text {
  std::vector<std::uint8_t> bytes;     ///< all documents, end to end
  std::size_t training_bytes = 0;      ///< the first of them; the rest is the validation part
  std::uint64_t hash = 0;              ///< XXH3 (64 bits) of `bytes`
  std::vector<std::string> documents;  ///< their paths, in order
  std::vector<std::string> notes;      ///< files that were left out, and why

  [[nodiscard]] std::span<std::uint8_t const> training() const { return {bytes.data(), training_bytes}; }
  [[nodiscard]] std::span<std::uint8_t const> validation() const;
  /// The longest `--seq` that leaves at least one window in each part (a window is its inputs and one byte more).
  [[nodiscard]] std::int64_t longest_sequence() const;
};

namespace detail {

bool looks_binary(std::vector<std::uint8_t> const& bytes);

inline bool is_hidden(fs::path const& path) { return path.filename().string().starts_with('.'); }

struct found_file {
  std::string name;  ///< relative to the folder
  fs::path path;
  bool is_link;
};

/// Regular files below `folder`, and links to such. Linked folders are not entered: they could form a circle.
std::vector<found_file> list_files(fs::path const& folder, std::vector<std::string>& notes);

}  // namespace detail

/// Loads a file, or all text files of a folder and its folders, sorted by path. In a folder these are left out, each
/// with a note: binary files (any zero byte), empty files, and files whose contents stand there already under another
/// name (links, copies; a link yields to the file it points at). Hidden ones are passed over.
/// Errors: missing, unreadable, empty, not a regular file, a folder without text. Does not communicate.
text load_text(fs::path const& path);

/// Where `--data` points when it is not given: the licence texts that every Debian machine carries, elsewhere the
/// project's own documentation.
fs::path default_data(fs::path const& documentation);

/// Refuses a sequence length that no window of the data can have.
void require_sequence_fits(text const& data, std::int64_t sequence_length);

}  // namespace mini_llm
