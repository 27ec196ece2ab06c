// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "options.hpp"
#include "text.hpp"
#include "token_shard.hpp"
#include "token_stream.hpp"

#include <weft/error.hpp>
#include <weft/model/gpt_size.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// What is learnt, in whatever form it is stored: text (bytes are tokens), or shards of tokens. docs/mini_llm.md has
/// the rules in prose. Nothing here communicates.

namespace mini_llm {

/// The training and validation parts. The same on every rank that reads the same files; `hash` goes into the ranks'
/// fingerprint and into checkpoints.
struct token_data {
  data_format format = data_format::text;  ///< never `automatic`
  token_stream training;
  token_stream validation;
  std::uint64_t hash = 0;              ///< of a text: XXH3 of its bytes; of shards: of their tokens and the cut
  std::vector<std::string> documents;  ///< files read, in order
  std::vector<std::string> notes;      ///< files that were left out, and why

  [[nodiscard]] bool is_text() const { return format == data_format::text; }
  [[nodiscard]] char const* unit() const { return is_text() ? "byte" : "token"; }
  /// What a model that has learnt something must beat: of a text the bigram entropy. Pairs of 50,257 tokens are too
  /// many to be counted in any validation part, so of shards the entropy of single tokens.
  [[nodiscard]] char const* entropy_name() const { return is_text() ? "bigram entropy" : "unigram entropy"; }

  /// See `entropy_name`: nats per token, of the validation part.
  [[nodiscard]] double entropy(int vocabulary) const;

  std::unique_ptr<text> bytes;  ///< of `data_format::text`: what the streams show
};

/// H(token) in nats: -sum over tokens t of p(t) ln p(t), counted in that stream itself. No model that sees nothing of
/// the past can have a lower loss on it. Added in order, so equal on all machines.
double unigram_entropy(token_stream const& stream, int vocabulary);

namespace detail {

/// Which part a shard is for, by its name: `fineweb_train_000001.bin`, `tiny_shakespeare_val.bin`, `train.bin`. A word
/// ends at anything that is no letter.
enum class shard_part { unmarked, training, validation };

shard_part part_of(std::string const& name);

struct named_shards {
  std::vector<found_file> training;
  std::vector<found_file> validation;
};

/// Sorts the `.bin` files of a folder into parts; files of other names are left out, with a note.
named_shards find_shards(fs::path const& path, std::vector<std::string>& notes);

/// What `--data-format auto` means for a path; see docs/mini_llm.md.
data_format recognise(fs::path const& path);

/// The least that would do, for a token that a preset has no place for.
std::string vocabulary_remedy(std::int64_t token);

}  // namespace detail

/// Opens shards, and reads all of them once: hash and vocabulary. Errors: those of `token_shard`; shards of different
/// widths; a token that is not below `vocabulary`.
token_data load_shards(fs::path const& path, data_format format, int vocabulary, std::string const& preset);

/// Loads what `--data` names in the form that `--data-format` says. `preset` is for messages.
token_data load_data(fs::path const& path, data_format format, int vocabulary, std::string const& preset);

/// Refuses a sequence length that no window of the data can have.
void require_sequence_fits(token_data const& data, std::int64_t sequence_length);

}  // namespace mini_llm
