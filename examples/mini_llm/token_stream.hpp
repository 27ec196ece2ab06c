// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "token_shard.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mini_llm {

/// Shards put end to end: token `index` of the whole. Opened once, shared by the streams that read them.
class shard_list {
 public:
  shard_list(std::vector<token_shard> shards, std::int64_t vocabulary);

  [[nodiscard]] std::vector<token_shard> const& shards() const { return shards_; }
  [[nodiscard]] std::int64_t size() const { return begin_.back(); }

  /// Errors: a shard that was cut or overwritten since it was opened.
  void copy(std::int64_t first, std::int64_t count, std::int32_t* out) const;

 private:
  std::vector<token_shard> shards_;
  std::vector<std::int64_t> begin_{0};
  std::int64_t vocabulary_;
};

/// A row of tokens that is learnt or validated on, wherever it lies: bytes of a text in memory, or a range of shards.
class token_stream {
 public:
  token_stream() = default;
  /// Bytes are tokens. They must outlive the stream.
  template <class Bytes>
    requires std::convertible_to<Bytes const&, std::span<std::uint8_t const>> token_stream(
        Bytes const& bytes)  // NOLINT: a text is a stream of tokens
        : bytes_(bytes),
          size_(static_cast<std::int64_t>(bytes_.size())) {}
    token_stream(std::shared_ptr<shard_list const> shards, std::int64_t first, std::int64_t size)
        : shards_(std::move(shards)),
          first_(first),
          size_(size) {}

    [[nodiscard]] std::int64_t size() const { return size_; }

    /// Tokens [first, first + count), which must be inside. Does not allocate.
    void copy(std::int64_t first, std::int64_t count, std::int32_t* out) const {
      if (shards_ != nullptr) return shards_->copy(first_ + first, count, out);
      auto const from = bytes_.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
      std::copy(from.begin(), from.end(), out);
    }

   private:
    std::span<std::uint8_t const> bytes_;
    std::shared_ptr<shard_list const> shards_;
    std::int64_t first_ = 0;
    std::int64_t size_ = 0;
};

}  // namespace mini_llm
