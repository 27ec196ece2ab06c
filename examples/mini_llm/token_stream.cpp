// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "token_stream.hpp"

namespace mini_llm {

shard_list::shard_list(std::vector<token_shard> shards, std::int64_t vocabulary)
    : shards_(std::move(shards)),
      vocabulary_(vocabulary) {
  for (token_shard const& each : shards_) begin_.push_back(begin_.back() + each.tokens());
}

void shard_list::copy(std::int64_t first, std::int64_t count, std::int32_t* out) const {
  auto shard = static_cast<std::size_t>(std::upper_bound(begin_.begin(), begin_.end(), first) - begin_.begin()) - 1;
  for (; count > 0; ++shard) {
    std::int64_t const at = first - begin_[shard];
    std::int64_t const here = std::min(count, shards_[shard].tokens() - at);
    shards_[shard].read(at, here, out);
    for (std::int64_t index = 0; index < here; ++index)
      if (out[index] < 0 || out[index] >= vocabulary_)
        throw weft::error("mini_llm::data: " + shards_[shard].path().string() + ": token " +
                          std::to_string(at + index) + " is no longer below " + std::to_string(vocabulary_) +
                          "; do not write to the data during a run");
    first += here;
    out += here;
    count -= here;
  }
}

}  // namespace mini_llm
