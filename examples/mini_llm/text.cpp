// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text.hpp"

namespace mini_llm {

double bigram_entropy(std::span<std::uint8_t const> text) {
  if (text.size() < 2) return 0.0;
  std::vector<std::uint64_t> pairs(256 * 256, 0);
  std::array<std::uint64_t, 256> firsts{};
  for (std::size_t position = 0; position + 1 < text.size(); ++position) {
    ++pairs[text[position] * std::size_t{256} + text[position + 1]];
    ++firsts[text[position]];
  }
  double sum = 0.0;
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
    if (pairs[pair] == 0) continue;
    auto const count = static_cast<double>(pairs[pair]);
    sum -= count * std::log(count / static_cast<double>(firsts[pair / 256]));
  }
  return sum / static_cast<double>(text.size() - 1);
}

double verbatim_share(std::span<std::uint8_t const> training, std::span<std::uint8_t const> validation,
                      std::size_t width) {
  if (validation.size() < width || training.size() < width) return 0.0;
  // A polynomial hash modulo 2^64 rolls over the text in one pass.
  constexpr std::uint64_t base = 0x9E3779B97F4A7C15u;
  std::uint64_t leading = 1;
  for (std::size_t step = 1; step < width; ++step) leading *= base;
  auto const hash = [&](std::uint8_t const* bytes) {
    std::uint64_t value = 0;
    for (std::size_t index = 0; index < width; ++index) value = value * base + bytes[index] + 1u;
    return value;
  };
  std::size_t const places = validation.size() - width + 1;
  std::size_t const probes = std::min<std::size_t>(places, 4096);
  std::unordered_set<std::uint64_t> wanted;
  for (std::size_t probe = 0; probe < probes; ++probe) wanted.insert(hash(validation.data() + places * probe / probes));
  std::unordered_set<std::uint64_t> found;
  std::uint64_t rolling = hash(training.data());
  for (std::size_t end = width;; ++end) {
    if (wanted.contains(rolling)) found.insert(rolling);
    if (end == training.size()) break;
    rolling = (rolling - (training[end - width] + std::uint64_t{1}) * leading) * base + training[end] + 1u;
  }
  std::size_t hits = 0;
  for (std::size_t probe = 0; probe < probes; ++probe)
    hits += found.contains(hash(validation.data() + places * probe / probes)) ? 1 : 0;
  return static_cast<double>(hits) / static_cast<double>(probes);
}

std::span<std::uint8_t const> text::validation() const {
  return std::span<std::uint8_t const>(bytes).subspan(training_bytes);
}

std::int64_t text::longest_sequence() const {
  auto const shorter = static_cast<std::int64_t>(std::min(training_bytes, bytes.size() - training_bytes));
  return std::max<std::int64_t>(shorter - 1, 0);
}

namespace detail {

bool looks_binary(std::vector<std::uint8_t> const& bytes) {
  return !bytes.empty() && std::memchr(bytes.data(), 0, bytes.size()) != nullptr;
}

std::vector<found_file> list_files(fs::path const& folder, std::vector<std::string>& notes) {
  std::vector<found_file> files;
  std::error_code code;
  fs::recursive_directory_iterator entry(folder, code);
  if (code) fail("data", folder, "cannot be listed", code.value());
  while (entry != fs::recursive_directory_iterator()) {
    fs::path const path = entry->path();
    bool const link = entry->is_symlink(code);
    std::string const name = path.lexically_relative(folder).generic_string();
    if (is_hidden(path)) {
      entry.disable_recursion_pending();
    } else if (link && fs::is_directory(path, code)) {
      notes.push_back(name + ": a link to a folder, not entered");
    } else if (fs::is_regular_file(path, code)) {
      files.push_back({name, path, link});
    } else if (!fs::is_directory(path, code)) {
      notes.push_back(name + ": not a regular file, left out");
    }
    entry.increment(code);
    if (code) fail("data", path, "or what follows it cannot be listed", code.value());
  }
  // Bytes of the names, not the locale, decide the order: it is part of the data.
  std::sort(files.begin(), files.end(),
            [](found_file const& left, found_file const& right) { return left.name < right.name; });
  return files;
}

}  // namespace detail

text load_text(fs::path const& path) {
  text result;
  std::error_code code;
  if (!fs::is_directory(path, code)) {
    result.bytes = read_file("data", path);
    if (result.bytes.empty())
      throw weft::error("mini_llm::data: " + path.string() + " is empty; name a file with text in it");
    result.documents.push_back(path.string());
    if (detail::looks_binary(result.bytes))
      result.notes.push_back(path.string() +
                             ": holds zero bytes, so it may not be text; taken as it is, since it was named");
  } else {
    auto const files = detail::list_files(path, result.notes);
    std::vector<std::vector<std::uint8_t>> contents(files.size());
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    for (bool const links : {false, true}) {
      for (std::size_t index = 0; index < files.size(); ++index) {
        if (files[index].is_link != links) continue;
        auto bytes = read_file("data", files[index].path);
        XXH128_hash_t const hash = XXH3_128bits(bytes.data(), bytes.size());
        if (bytes.empty()) {
          result.notes.push_back(files[index].name + ": empty, left out");
        } else if (detail::looks_binary(bytes)) {
          result.notes.push_back(files[index].name + ": binary, left out");
        } else if (!seen.insert({hash.high64, hash.low64}).second) {
          result.notes.push_back(files[index].name + ": the same text as another file, left out");
        } else {
          contents[index] = std::move(bytes);
        }
      }
    }
    for (std::size_t index = 0; index < files.size(); ++index) {
      if (contents[index].empty()) continue;
      result.documents.push_back(files[index].name);
      result.bytes.insert(result.bytes.end(), contents[index].begin(), contents[index].end());
    }
    if (result.bytes.empty())
      throw weft::error("mini_llm::data: the folder " + path.string() + " holds no text (" +
                        std::to_string(files.size()) + " files looked at); name a file or folder with text in it");
  }
  result.training_bytes = result.bytes.size() - result.bytes.size() / 10;
  result.hash = XXH3_64bits(result.bytes.data(), result.bytes.size());
  return result;
}

fs::path default_data(fs::path const& documentation) {
  fs::path const licences = "/usr/share/common-licenses";
  std::error_code code;
  return fs::is_directory(licences, code) ? licences : documentation;
}

void require_sequence_fits(text const& data, std::int64_t sequence_length) {
  std::int64_t const longest = data.longest_sequence();
  if (longest < 1)
    throw weft::error(
        "mini_llm::data: the data has " + std::to_string(data.bytes.size()) +
        " bytes, of which a tenth is for validation; at least 20 bytes are needed to train on: name a longer text");
  if (sequence_length > longest)
    throw weft::error("mini_llm::data: --seq " + std::to_string(sequence_length) + " is longer than the data (" +
                      std::to_string(data.training_bytes) + " bytes to train on, " +
                      std::to_string(data.bytes.size() - data.training_bytes) +
                      " to validate on); the largest possible here is " + std::to_string(longest));
}

}  // namespace mini_llm
