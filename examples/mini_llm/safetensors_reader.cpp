// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "safetensors_reader.hpp"

namespace mini_llm {

namespace detail {

float half_to_float(std::uint16_t half) {
  std::uint32_t const sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  std::uint32_t const exponent = (half >> 10) & 0x1Fu;
  std::uint32_t const fraction = half & 0x3FFu;
  if (exponent == 0) {
    float const magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  std::uint32_t const wide = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

float brain_to_float(std::uint16_t brain) { return std::bit_cast<float>(static_cast<std::uint32_t>(brain) << 16); }

}  // namespace detail

safetensors_reader::safetensors_reader(fs::path path) : path_(std::move(path)) {
  file_ = open_for_reading(where, path_);
  bytes_ = size_of_file(where, path_, file_);
  if (bytes_ < 8) damaged("has " + std::to_string(bytes_) + " bytes, and the length of the header alone takes 8");
  std::uint64_t length = 0;
  read_at(where, path_, file_, 0, &length, 8);
  if (length > longest_header || length > bytes_ - 8)
    damaged("says that its header has " + std::to_string(length) + " bytes; the file has " + std::to_string(bytes_) +
            " in all" + (length > longest_header ? ", and headers may have 100000000" : ""));
  header_.resize(length);
  read_at(where, path_, file_, 8, header_.data(), length);
  parse();
  check_layout();
}

tensor_info const& safetensors_reader::at(std::string const& name) const {
  auto const found = index_.find(name);
  if (found == index_.end())
    throw weft::error("mini_llm::safetensors: " + path_.string() + " has no tensor " + quoted_name(name) +
                      (tensors_.empty() ? "" : " (it begins with " + quoted_name(tensors_.front().name) + ")") +
                      "; name a file that was written for this model");
  return tensors_[found->second];
}

void safetensors_reader::verify() const {
  if (!has_checksum()) return;
  std::string const& stored = metadata_.at(checksum_key);
  std::vector<std::uint8_t> header = header_;
  std::string const entry = std::string("\"") + checksum_key + "\":\"" + stored + "\"";
  auto const place = std::search(header.begin(), header.end(), entry.begin(), entry.end());
  if (stored.size() != 16 || place == header.end()) damaged("has a checksum that is not 16 hexadecimal digits");
  std::copy_n(checksum_zeros, 16, place + static_cast<std::ptrdiff_t>(entry.size() - 17));
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, header.data(), header.size());
  std::vector<std::byte> piece(piece_bytes);
  for (std::uint64_t offset = payload(); offset < bytes_; offset += piece.size()) {
    std::size_t const count = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), bytes_ - offset));
    read_at(where, path_, file_, offset, piece.data(), count);
    XXH3_64bits_update(&state, piece.data(), count);
  }
  char computed[17];
  std::snprintf(computed, sizeof computed, "%016llx", static_cast<unsigned long long>(XXH3_64bits_digest(&state)));
  if (stored != computed)
    damaged("has other contents than when it was written (checksum " + std::string(computed) + ", not " +
            quoted_name(stored) + ")");
}

void safetensors_reader::damaged(std::string const& what) const {
  throw weft::error("mini_llm::safetensors: " + path_.string() + " is damaged or no safetensors file: it " + what +
                    "; fetch or write it again");
}

void safetensors_reader::parse() {
  if (header_.empty() || header_.front() != '{') damaged("has a header that does not begin with '{'");
  std::vector<std::set<std::string>> keys;
  std::string twice;
  int objects = 0;
  auto const watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) {
      keys.emplace_back();
      // The parser's time grows with the square of this number.
      if (++objects > most_tensors) damaged("names more than " + std::to_string(most_tensors) + " tensors");
    }
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  json header;
  try {
    header = json::parse(header_.begin(), header_.end(), watch);
  } catch (json::exception const& problem) {
    damaged("has a header that is not JSON (" + printable(std::string_view(problem.what())).substr(0, 300) + ")");
  }
  if (!header.is_object()) damaged("has a header that is not a JSON object");
  if (!twice.empty()) damaged("names " + quoted_name(twice) + " twice in its header");
  for (auto const& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) damaged("has metadata that are not an object");
      for (auto const& [key, value] : entry.items()) {
        if (!value.is_string()) damaged("has metadata whose " + quoted_name(key) + " is not a string");
        metadata_[key] = value.get<std::string>();
      }
    } else {
      tensors_.push_back(parse_tensor(name, entry));
    }
  }
}

tensor_info safetensors_reader::parse_tensor(std::string const& name, json const& entry) const {
  std::string const tensor_text = "tensor " + quoted_name(name);
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
    damaged("describes " + tensor_text + " without dtype, shape and data_offsets");
  if (entry.size() != 3) damaged("describes " + tensor_text + " with more than dtype, shape and data_offsets");
  tensor_info tensor;
  tensor.name = name;
  if (!entry["dtype"].is_string()) damaged("gives " + tensor_text + " a dtype that is not a string");
  tensor.type = entry["dtype"].get<std::string>();
  auto const* const type =
      std::find_if(std::begin(dtypes), std::end(dtypes), [&](dtype const& known) { return tensor.type == known.name; });
  if (type == std::end(dtypes)) damaged("gives " + tensor_text + " the unknown dtype " + quoted_name(tensor.type));
  std::uint64_t wanted = type->bytes;
  if (!entry["shape"].is_array()) damaged("gives " + tensor_text + " a shape that is not a list");
  bool empty = false;
  for (json const& extent : entry["shape"]) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > std::uint64_t{1} << 62)
      damaged("gives " + tensor_text + " an extent that is not a whole number from 0 to 2^62");
    tensor.shape.push_back(extent.get<std::int64_t>());
    empty = empty || tensor.shape.back() == 0;
  }
  for (std::int64_t const extent : tensor.shape) {
    if (empty) break;  // no overflow however large the other extents are
    if (wanted > (std::uint64_t{1} << 62) / static_cast<std::uint64_t>(extent))
      damaged("gives " + tensor_text + " the absurd shape " + shape_text(tensor.shape));
    wanted *= static_cast<std::uint64_t>(extent);
  }
  if (empty) wanted = 0;
  json const& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    damaged("gives " + tensor_text + " data_offsets that are not two whole numbers");
  tensor.begin = offsets[0].get<std::uint64_t>();
  tensor.end = offsets[1].get<std::uint64_t>();
  if (tensor.end < tensor.begin || tensor.end > bytes_ - payload())
    damaged("puts " + tensor_text + " at bytes " + std::to_string(tensor.begin) + " to " + std::to_string(tensor.end) +
            " of " + std::to_string(bytes_ - payload()) + (tensor.end > tensor.begin ? ": it was cut short" : ""));
  if (tensor.end - tensor.begin != wanted)
    damaged("gives " + tensor_text + " " + std::to_string(tensor.end - tensor.begin) + " bytes; " + tensor.type + " " +
            shape_text(tensor.shape) + " takes " + std::to_string(wanted));
  return tensor;
}

void safetensors_reader::check_layout() {
  std::sort(tensors_.begin(), tensors_.end(), [](tensor_info const& left, tensor_info const& right) {
    return std::tie(left.begin, left.end, left.name) < std::tie(right.begin, right.end, right.name);
  });
  std::uint64_t next = 0;
  for (std::size_t index = 0; index < tensors_.size(); ++index) {
    tensor_info const& tensor = tensors_[index];
    if (tensor.begin != next)
      damaged(std::string(tensor.begin < next ? "has tensors that overlap" : "has a gap between tensors") +
              " at byte " + std::to_string(tensor.begin) + " (tensor " + quoted_name(tensor.name) + ")");
    next = tensor.end;
    index_.emplace(tensor.name, index);
  }
  if (next != bytes_ - payload())
    damaged("has " + std::to_string(bytes_ - payload() - next) + " bytes behind its last tensor");
}

std::string identity_of(fs::path const& path) {
  constexpr std::uint64_t begin_bytes = 1 << 20;
  constexpr std::uint64_t block_bytes = 4096;
  constexpr std::uint64_t blocks = 64;
  std::uint64_t const size = fs::file_size(path);
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(begin_bytes);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, &size, sizeof size);
  auto const add = [&](std::uint64_t offset, std::uint64_t bytes) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(piece.data(), static_cast<std::streamsize>(bytes));
    XXH3_64bits_update(&state, piece.data(), static_cast<std::size_t>(file.gcount()));
  };
  add(0, begin_bytes);
  for (std::uint64_t block = 1; size > begin_bytes && block <= blocks; ++block)
    add((size - (std::min)(size, block_bytes)) / blocks * block, block_bytes);
  return std::to_string(XXH3_64bits_digest(&state));
}

}  // namespace mini_llm
