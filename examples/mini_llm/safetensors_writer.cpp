// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "safetensors_writer.hpp"

namespace mini_llm {

void safetensors_writer::commit() {
  if (next_ != entries_.size())
    throw weft::error("mini_llm::safetensors: " + file_->target().string() + " lacks \"" + entries_[next_].name +
                      "\"; write every declared tensor before the commit");
  if (checksum_place_ != 0) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(XXH3_64bits_digest(state_.get())));
    file_->patch(checksum_place_, digits);
  }
  file_->commit();
}

safetensors_writer::safetensors_writer(fs::path const& path, std::vector<entry> const& entries,
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

void safetensors_writer::append(void const* data, std::size_t bytes) {
  XXH3_64bits_update(state_.get(), data, bytes);
  file_->write(data, bytes);
}

}  // namespace mini_llm
