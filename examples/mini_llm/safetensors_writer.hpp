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

  void commit() {
    if (next_ != entries_.size())
      throw weft::error("mini_llm::safetensors: " + file_->target().string() + " lacks \"" + entries_[next_].name +
                        "\"; write every declared tensor before the commit");
    if (checksum_place_ != 0) {
      char digits[17];
      std::snprintf(digits, sizeof digits, "%016llx",
                    static_cast<unsigned long long>(XXH3_64bits_digest(state_.get())));
      file_->patch(checksum_place_, digits);
    }
    file_->commit();
  }

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
                     std::uint64_t element)
      : element_(element),
        state_(XXH3_createState()) {
    metadata.emplace("format", "pt");
    if (checksum) metadata[checksum_key] = checksum_zeros;
    nlohmann::ordered_json header;
    header["__metadata__"] = metadata;
    std::uint64_t offset = 0;
    for (entry const& tensor : entries) {
      std::uint64_t size = element;
      for (std::int64_t const extent : tensor.shape) size *= static_cast<std::uint64_t>(extent);
      if (header.contains(tensor.name))
        throw weft::error("mini_llm::safetensors: tensor \"" + tensor.name + "\" is declared twice; names must differ");
      header[tensor.name] = {{"dtype", type}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + size}}};
      entries_.push_back({tensor.name, size});
      offset += size;
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // the payload begins at a multiple of 8 bytes
    if (text.size() > longest_header)
      throw weft::error("mini_llm::safetensors: a header of " + std::to_string(text.size()) +
                        " bytes cannot be read again; shorten the tensors' names or the metadata");
    total_ = 8 + text.size() + offset;
    file_ = std::make_unique<atomic_file>("safetensors", path, total_);
    std::uint64_t const length = text.size();
    file_->write(&length, sizeof length);
    XXH3_64bits_reset(state_.get());
    append(text.data(), text.size());
    if (checksum) {
      std::string const mark = std::string("\"") + checksum_key + "\":\"";
      checksum_place_ = 8 + text.find(mark) + mark.size();
    }
  }

  void append(void const* data, std::size_t bytes) {
    XXH3_64bits_update(state_.get(), data, bytes);
    file_->write(data, bytes);
  }

  std::vector<declared> entries_;
  std::size_t next_ = 0;
  std::uint64_t element_;
  std::uint64_t total_ = 0;
  std::uint64_t checksum_place_ = 0;
  std::unique_ptr<atomic_file> file_;
  std::unique_ptr<XXH3_state_t, free_state> state_;
};

}  // namespace mini_llm
