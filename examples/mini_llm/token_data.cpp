// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "token_data.hpp"

namespace mini_llm {

double unigram_entropy(token_stream const& stream, int vocabulary) {
  if (stream.size() == 0) return 0.0;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocabulary), 0);
  std::vector<std::int32_t> piece(1 << 16);
  for (std::int64_t first = 0; first < stream.size(); first += static_cast<std::int64_t>(piece.size())) {
    std::int64_t const here = std::min(static_cast<std::int64_t>(piece.size()), stream.size() - first);
    stream.copy(first, here, piece.data());
    for (std::int64_t index = 0; index < here; ++index)
      ++counts[static_cast<std::size_t>(piece[static_cast<std::size_t>(index)])];
  }
  double sum = 0.0;
  for (std::int64_t const count : counts)
    if (count > 0) {
      double const share = static_cast<double>(count) / static_cast<double>(stream.size());
      sum -= share * std::log(share);
    }
  return sum;
}

double token_data::entropy(int vocabulary) const {
  return is_text() ? bigram_entropy(bytes->validation()) : unigram_entropy(validation, vocabulary);
}

namespace detail {

shard_part part_of(std::string const& name) {
  std::string word;
  for (char const each : fs::path(name).stem().string() + "_") {
    if ((each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z')) {
      word += each;
      continue;
    }
    if (word == "train") return shard_part::training;
    if (word == "val") return shard_part::validation;
    word.clear();
  }
  return shard_part::unmarked;
}

named_shards find_shards(fs::path const& path, std::vector<std::string>& notes) {
  named_shards found;
  std::vector<found_file> unmarked;
  for (found_file& each : list_files(path, notes)) {
    if (each.path.extension() != ".bin") {
      notes.push_back(each.name + ": no .bin file, left out");
      continue;
    }
    shard_part const part = part_of(each.name);
    (part == shard_part::training     ? found.training
     : part == shard_part::validation ? found.validation
                                      : unmarked)
        .push_back(std::move(each));
  }
  if (found.training.empty()) {
    found.training = std::move(unmarked);
  } else {
    for (found_file const& each : unmarked)
      notes.push_back(each.name + ": its name has neither train nor val in it as others' have, left out");
  }
  if (found.training.empty())
    throw weft::error("mini_llm::data: the folder " + path.string() + " holds no " +
                      (found.validation.empty() ? "token files (*.bin)" : "*.bin files to train on, only *val* ones") +
                      "; name a folder with token files, or a text");
  return found;
}

data_format recognise(fs::path const& path) {
  std::error_code code;
  if (!fs::is_directory(path, code)) {
    if (token_shard::has_magic(path)) return data_format::llmc;
    if (path.extension() == ".bin")
      throw weft::error("mini_llm::data: " + path.string() +
                        " has none of llm.c's magic numbers, and its name does not tell what it is; say --data-format "
                        "uint16 (nanoGPT's tokens), llmc, or text (bytes)");
    return data_format::text;
  }
  std::vector<std::string> ignored;
  for (found_file const& each : list_files(path, ignored))
    if (each.path.extension() == ".bin" && token_shard::has_magic(each.path)) return data_format::llmc;
  return data_format::text;
}

std::string vocabulary_remedy(std::int64_t token) {
  constexpr std::int64_t most = weft::model::gpt2_124m.vocabulary;
  return token < most
             ? "--preset gpt2-124m has the " + std::to_string(most) + " tokens of GPT-2"
             : "no preset has so many: cut the data with a tokenizer of at most " + std::to_string(most) + " tokens";
}

}  // namespace detail

token_data load_shards(fs::path const& path, data_format format, int vocabulary, std::string const& preset) {
  token_data result;
  result.format = format;
  detail::named_shards found;
  std::error_code code;
  if (fs::is_directory(path, code))
    found = detail::find_shards(path, result.notes);
  else
    found.training.push_back({path.string(), path, false});
  std::vector<token_shard> shards;
  std::int64_t training_tokens = 0;
  std::int64_t tokens = 0;
  XXH3_state_t hash;
  XXH3_64bits_reset(&hash);
  auto const add = [&](detail::found_file const& file) {
    token_shard shard =
        format == data_format::llmc ? token_shard::open_llmc(file.path) : token_shard::open_uint16(file.path);
    if (!shards.empty() && shard.width() != shards.front().width())
      throw weft::error("mini_llm::data: " + file.path.string() + " has tokens of " +
                        std::to_string(8 * shard.width()) + " bits and " + shards.front().path().string() + " of " +
                        std::to_string(8 * shards.front().width()) +
                        ", so they are of two tokenizers; put them into two folders");
    std::int64_t const bad = shard.scan(vocabulary, hash);
    if (bad >= 0) {
      std::int32_t token = 0;
      shard.read(bad, 1, &token);
      auto const value = static_cast<std::uint32_t>(token);
      throw weft::error("mini_llm::data: " + file.path.string() + ": token " + std::to_string(bad) + " (at byte " +
                        std::to_string(shard.byte_of(bad)) + ") is " + std::to_string(value) + ", and --preset " +
                        preset + " has tokens 0 to " + std::to_string(vocabulary - 1) + "; " +
                        detail::vocabulary_remedy(value));
    }
    tokens += shard.tokens();
    result.documents.push_back(file.name);
    shards.push_back(std::move(shard));
  };
  for (auto const& file : found.training) add(file);
  training_tokens = found.validation.empty() ? tokens - tokens / 10 : tokens;
  if (found.validation.empty() && fs::is_directory(path, code))
    result.notes.push_back("no *val*.bin: the last tenth of the tokens is for validation");
  for (auto const& file : found.validation) add(file);
  XXH3_64bits_update(&hash, &training_tokens, sizeof training_tokens);
  result.hash = XXH3_64bits_digest(&hash);
  auto const all = std::make_shared<shard_list const>(std::move(shards), vocabulary);
  result.training = token_stream(all, 0, training_tokens);
  result.validation = token_stream(all, training_tokens, tokens - training_tokens);
  return result;
}

token_data load_data(fs::path const& path, data_format format, int vocabulary, std::string const& preset) {
  if (format == data_format::automatic) format = detail::recognise(path);
  if (format != data_format::text) return load_shards(path, format, vocabulary, preset);
  token_data result;
  result.bytes = std::make_unique<text>(load_text(path));
  result.training = token_stream(result.bytes->training());
  result.validation = token_stream(result.bytes->validation());
  result.hash = result.bytes->hash;
  result.documents = result.bytes->documents;
  result.notes = result.bytes->notes;
  return result;
}

void require_sequence_fits(token_data const& data, std::int64_t sequence_length) {
  if (data.is_text()) return require_sequence_fits(*data.bytes, sequence_length);
  std::int64_t const longest = std::max<std::int64_t>(std::min(data.training.size(), data.validation.size()) - 1, 0);
  if (longest < 1 || sequence_length > longest)
    throw weft::error("mini_llm::data: --seq " + std::to_string(sequence_length) + " is longer than the data (" +
                      std::to_string(data.training.size()) + " tokens to train on, " +
                      std::to_string(data.validation.size()) + " to validate on); " +
                      (longest < 1 ? "name more data" : "the largest possible here is " + std::to_string(longest)));
}

}  // namespace mini_llm
