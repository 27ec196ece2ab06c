// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "files.hpp"

#include <weft/error.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

/// @file
/// One file of tokens, as other trainers write them. Two forms:
///
/// * llm.c's (`dev/data/data_common.py`): a header of 256 int32, then the tokens. header[0] is the magic number,
///   header[1] the version, header[2] the number of tokens, the rest zero. 20240520, version 1: uint16 (GPT-2's
///   tokenizer); 20240801, version 7: uint32 (Llama 3's);
/// * nanoGPT's (`data/*/prepare.py`): uint16 tokens and nothing else.
///
/// All little-endian. A file is never in memory as a whole: shards of many GB are read where a window needs them, and
/// the ranks of one machine share the system's cache of them. Nothing here communicates.

namespace mini_llm {

static_assert(std::endian::native == std::endian::little, "mini_llm: token files are little-endian");

class token_shard {
 public:
  static constexpr std::size_t header_bytes = 256 * sizeof(std::int32_t);
  static constexpr std::int32_t magic_uint16 = 20240520;
  static constexpr std::int32_t magic_uint32 = 20240801;

  /// True if the file begins with one of llm.c's magic numbers.
  static bool has_magic(fs::path const& path);

  /// Opens a file of llm.c's form. Errors, each naming the file and the numbers: no header, another magic number or
  /// version, a count that is not positive, a count that is not the file's.
  static token_shard open_llmc(fs::path const& path);

  /// Opens a file of nothing but uint16 tokens. Errors: an odd number of bytes, none.
  static token_shard open_uint16(fs::path const& path);

  [[nodiscard]] fs::path const& path() const { return path_; }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] int width() const { return width_; }  ///< bytes per token: 2 or 4
  /// Where a token stands in the file.
  [[nodiscard]] std::uint64_t byte_of(std::int64_t token) const;

  /// Tokens [first, first + count) as they stand there; those that do not fit an int32 come out negative.
  void read(std::int64_t first, std::int64_t count, std::int32_t* out) const;

  /// Reads every token once, in order: adds them to `hash`, and returns the first one that is not below `vocabulary`
  /// (its index; -1: all are).
  std::int64_t scan(std::int64_t vocabulary, XXH3_state_t& hash) const;

 private:
  token_shard(fs::path path, descriptor file, std::uint64_t offset, int width, std::int64_t tokens)
      : path_(std::move(path)),
        file_(std::move(file)),
        offset_(offset),
        width_(width),
        tokens_(tokens) {}

  [[noreturn]] static void refuse(fs::path const& path, std::string const& what, std::string const& remedy);

  fs::path path_;
  descriptor file_;
  std::uint64_t offset_;
  int width_;
  std::int64_t tokens_;
};

}  // namespace mini_llm
