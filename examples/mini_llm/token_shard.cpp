// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "token_shard.hpp"

namespace mini_llm {

bool token_shard::has_magic(fs::path const& path) {
  descriptor const file = open_for_reading("data", path);
  std::int32_t magic = 0;
  if (size_of_file("data", path, file) < sizeof magic) return false;
  read_at("data", path, file, 0, &magic, sizeof magic);
  return magic == magic_uint16 || magic == magic_uint32;
}

token_shard token_shard::open_llmc(fs::path const& path) {
  descriptor file = open_for_reading("data", path);
  std::uint64_t const bytes = size_of_file("data", path, file);
  if (bytes < header_bytes)
    refuse(path,
           "has " + std::to_string(bytes) + " bytes, and llm.c's header alone has " + std::to_string(header_bytes),
           "it was cut off, or is no token file of llm.c's (--data-format uint16 is for nanoGPT's)");
  std::int32_t header[3] = {};
  read_at("data", path, file, 0, header, sizeof header);
  auto const [magic, version, count] = header;
  if (magic != magic_uint16 && magic != magic_uint32)
    refuse(path,
           "begins with " + std::to_string(magic) + ", not with llm.c's magic number " + std::to_string(magic_uint16) +
               " (uint16) or " + std::to_string(magic_uint32) + " (uint32)",
           "name a token file of llm.c's, or say --data-format uint16 for nanoGPT's, which has no header");
  std::int32_t const right = magic == magic_uint16 ? 1 : 7;
  if (version != right)
    refuse(path,
           "is version " + std::to_string(version) + " of the form with magic number " + std::to_string(magic) +
               ", and version " + std::to_string(right) + " is known",
           "make it anew with a current llm.c");
  if (count <= 0)
    refuse(path, "says that it has " + std::to_string(count) + " tokens",
           "at least 1 is needed, and 2147483647 are the most that its header can say; make smaller shards");
  int const width = magic == magic_uint16 ? 2 : 4;
  std::uint64_t const claimed = header_bytes + static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(width);
  if (claimed != bytes)
    refuse(path,
           "says that it has " + std::to_string(count) + " tokens, which with the header is " +
               std::to_string(claimed) + " bytes, and it has " + std::to_string(bytes),
           claimed > bytes ? "it was cut off: copy it again" : "it was written to after its header: make it anew");
  return token_shard(path, std::move(file), header_bytes, width, count);
}

token_shard token_shard::open_uint16(fs::path const& path) {
  descriptor file = open_for_reading("data", path);
  std::uint64_t const bytes = size_of_file("data", path, file);
  if (bytes == 0) refuse(path, "is empty", "name a file with tokens in it");
  if (bytes % 2 != 0)
    refuse(path, "has " + std::to_string(bytes) + " bytes, and tokens of two bytes make an even number",
           "it was cut off, or holds something else");
  return token_shard(path, std::move(file), 0, 2, static_cast<std::int64_t>(bytes / 2));
}

std::uint64_t token_shard::byte_of(std::int64_t token) const {
  return offset_ + static_cast<std::uint64_t>(token) * static_cast<std::uint64_t>(width_);
}

void token_shard::read(std::int64_t first, std::int64_t count, std::int32_t* out) const {
  auto const number = static_cast<std::size_t>(count);
  if (width_ == 4) {
    read_at("data", path_, file_, byte_of(first), out, number * 4);
    return;
  }
  // Into the back half of `out`, then widened from the front: what is written has been read by then.
  auto* const bytes = reinterpret_cast<unsigned char*>(out);
  read_at("data", path_, file_, byte_of(first), bytes + 2 * number, 2 * number);
  for (std::size_t index = 0; index < number; ++index) {
    std::uint16_t token = 0;
    std::memcpy(&token, bytes + 2 * number + 2 * index, sizeof token);
    out[index] = token;
  }
}

std::int64_t token_shard::scan(std::int64_t vocabulary, XXH3_state_t& hash) const {
  constexpr std::int64_t piece = 1 << 18;
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(std::min(piece, tokens_)));
  std::int64_t bad = -1;
  for (std::int64_t first = 0; first < tokens_; first += piece) {
    std::int64_t const count = std::min(piece, tokens_ - first);
    read(first, count, tokens.data());
    XXH3_64bits_update(&hash, tokens.data(), static_cast<std::size_t>(count) * sizeof(std::int32_t));
    if (bad >= 0) continue;
    std::uint32_t largest = 0;
    for (std::int64_t index = 0; index < count; ++index)
      largest = std::max(largest, static_cast<std::uint32_t>(tokens[static_cast<std::size_t>(index)]));
    if (largest < vocabulary) continue;
    auto const at = std::find_if(tokens.begin(), tokens.begin() + count,
                                 [&](std::int32_t token) { return static_cast<std::uint32_t>(token) >= vocabulary; });
    bad = first + (at - tokens.begin());
  }
  return bad;
}

void token_shard::refuse(fs::path const& path, std::string const& what, std::string const& remedy) {
  throw weft::error("mini_llm::data: " + path.string() + " " + what + "; " + remedy);
}

}  // namespace mini_llm
