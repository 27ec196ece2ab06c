// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "safetensors.hpp"

#include <nlohmann/json.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>
#include <map>
#include <memory>

namespace mini_llm {

/// Writes a safetensors file tensor by tensor, in the order in which they were declared, holding none of them. The file
/// appears under its name at `commit` only, whole and synced; whatever fails before leaves an older one untouched.
/// Errors: no space, no permission (file, bytes and remedy are named), a tensor out of turn. Does not communicate.
class safetensors_writer {
 public:
  struct entry {
    std::string name;
    std::vector<std::int64_t> shape;
  };

  /// `metadata` are added to {"format": "pt"}, which other readers ask for. With `checksum`,
  /// `safetensors_reader::verify` notices any changed byte.
  template <class Real>
  static safetensors_writer create(fs::path const& path, std::vector<entry> const& entries,
                                   std::map<std::string, std::string> const& metadata, bool checksum) {
    return safetensors_writer(path, entries, metadata, checksum, dtype_name<Real>, sizeof(Real));
  }

  /// The next declared tensor, all of it (host memory).
  template <class Real>
  void write(std::string const& name, std::span<Real const> values) {
    static_assert(dtype_name<Real> != nullptr, "mini_llm::safetensors: only float and double are written");
    std::uint64_t const wanted = next_ < entries_.size() ? entries_[next_].bytes : 0;
    if (next_ >= entries_.size() || entries_[next_].name != name || wanted != values.size_bytes() ||
        element_ != sizeof(Real))
      throw weft::error("mini_llm::safetensors: tensor \"" + name + "\" of " + std::to_string(values.size_bytes()) +
                        " bytes is out of turn in " + file_->target().string() + "; " +
                        (next_ < entries_.size()
                             ? "\"" + entries_[next_].name + "\" of " + std::to_string(wanted) + " bytes comes next"
                             : std::string("all tensors are written")));
    append(values.data(), values.size_bytes());
    ++next_;
  }

  /// Bytes of the whole file.
  [[nodiscard]] std::uint64_t bytes() const { return total_; }

  void commit();

 private:
  struct declared {
    std::string name;
    std::uint64_t bytes;
  };
  struct free_state {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  safetensors_writer(fs::path const& path, std::vector<entry> const& entries,
                     std::map<std::string, std::string> metadata, bool checksum, char const* type,
                     std::uint64_t element);

  void append(void const* data, std::size_t bytes);

  std::vector<declared> entries_;
  std::size_t next_ = 0;
  std::uint64_t element_;
  std::uint64_t total_ = 0;
  std::uint64_t checksum_place_ = 0;
  std::unique_ptr<atomic_file> file_;
  std::unique_ptr<XXH3_state_t, free_state> state_;
};

}  // namespace mini_llm
