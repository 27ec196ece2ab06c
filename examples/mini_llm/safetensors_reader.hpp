// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "printable.hpp"
#include "safetensors.hpp"

#include <nlohmann/json.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <tuple>

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little endian, and read in place here");

namespace mini_llm {

namespace detail {

/// IEEE half to single: exact. Subnormal halves are normal singles.
inline float half_to_float(std::uint16_t half) {
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

inline float brain_to_float(std::uint16_t brain) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(brain) << 16);
}

}  // namespace detail

/// Opens a safetensors file, checks all of its header against the format and the file's length, and reads tensors one
/// at a time in pieces: beyond the header it needs 1 MiB of memory. Every error names the file, what is wrong with it
/// and what to do. Does not communicate; ranks may read one file at the same time.
class safetensors_reader {
 public:
  explicit safetensors_reader(fs::path path) : path_(std::move(path)) {
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

  [[nodiscard]] fs::path const& path() const { return path_; }
  [[nodiscard]] std::vector<tensor_info> const& tensors() const { return tensors_; }  ///< in the order of their bytes
  [[nodiscard]] std::map<std::string, std::string> const& metadata() const { return metadata_; }
  [[nodiscard]] bool contains(std::string const& name) const { return index_.contains(name); }

  [[nodiscard]] tensor_info const& at(std::string const& name) const {
    auto const found = index_.find(name);
    if (found == index_.end())
      throw weft::error("mini_llm::safetensors: " + path_.string() + " has no tensor " + quoted_name(name) +
                        (tensors_.empty() ? "" : " (it begins with " + quoted_name(tensors_.front().name) + ")") +
                        "; name a file that was written for this model");
    return tensors_[found->second];
  }

  /// Reads a tensor whose shape must be `shape` into `out` (host memory, as many elements), converting F64, F32, F16
  /// and BF16 to Real. Between F32 and float, F64 and double, the bits are those of the file.
  template <class Real>
  void read(std::string const& name, std::span<std::int64_t const> shape, Real* out) const {
    static_assert(dtype_name<Real> != nullptr, "mini_llm::safetensors: tensors are read as float or double");
    tensor_info const& tensor = at(name);
    if (!std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end()))
      throw weft::error("mini_llm::safetensors: tensor " + quoted_name(name) + " of " + path_.string() +
                        " has the shape " + shape_text(tensor.shape) + ", the model wants " + shape_text(shape) +
                        "; name a file that was written for this --preset");
    std::uint64_t const first = payload() + tensor.begin;
    if (tensor.type == dtype_name<Real>) return read_at(where, path_, file_, first, out, tensor.end - tensor.begin);
    if (tensor.type == "F32") return convert<float>(tensor, out, [](float value) { return value; });
    if (tensor.type == "F64") return convert<double>(tensor, out, [](double value) { return value; });
    if (tensor.type == "F16") return convert<std::uint16_t>(tensor, out, detail::half_to_float);
    if (tensor.type == "BF16") return convert<std::uint16_t>(tensor, out, detail::brain_to_float);
    throw weft::error("mini_llm::safetensors: tensor " + quoted_name(name) + " of " + path_.string() + " holds " +
                      tensor.type + "; only F32, F64, F16 and BF16 can be read as numbers: convert the file");
  }

  [[nodiscard]] bool has_checksum() const { return metadata_.contains(checksum_key); }

  /// Reads the whole file once and compares it with its checksum; a file without one passes. Errors: they differ.
  void verify() const {
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

 private:
  using json = nlohmann::json;
  static constexpr char const* where = "safetensors";
  static constexpr std::size_t piece_bytes = std::size_t{1} << 20;

  [[nodiscard]] std::uint64_t payload() const { return 8 + header_.size(); }

  [[noreturn]] void damaged(std::string const& what) const {
    throw weft::error("mini_llm::safetensors: " + path_.string() + " is damaged or no safetensors file: it " + what +
                      "; fetch or write it again");
  }

  /// Fills metadata and tensors. A name that stands twice is an error, so keys are watched while parsing: a JSON object
  /// would keep the last one only.
  void parse() {
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

  [[nodiscard]] tensor_info parse_tensor(std::string const& name, json const& entry) const {
    std::string const tensor_text = "tensor " + quoted_name(name);
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
      damaged("describes " + tensor_text + " without dtype, shape and data_offsets");
    if (entry.size() != 3) damaged("describes " + tensor_text + " with more than dtype, shape and data_offsets");
    tensor_info tensor;
    tensor.name = name;
    if (!entry["dtype"].is_string()) damaged("gives " + tensor_text + " a dtype that is not a string");
    tensor.type = entry["dtype"].get<std::string>();
    auto const* const type = std::find_if(std::begin(dtypes), std::end(dtypes),
                                          [&](dtype const& known) { return tensor.type == known.name; });
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
      damaged("puts " + tensor_text + " at bytes " + std::to_string(tensor.begin) + " to " +
              std::to_string(tensor.end) + " of " + std::to_string(bytes_ - payload()) +
              (tensor.end > tensor.begin ? ": it was cut short" : ""));
    if (tensor.end - tensor.begin != wanted)
      damaged("gives " + tensor_text + " " + std::to_string(tensor.end - tensor.begin) + " bytes; " + tensor.type +
              " " + shape_text(tensor.shape) + " takes " + std::to_string(wanted));
    return tensor;
  }

  /// The tensors must follow each other without overlaps or gaps and use up the file.
  void check_layout() {
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

  template <class Stored, class Real, class Conversion>
  void convert(tensor_info const& tensor, Real* out, Conversion conversion) const {
    std::vector<Stored> piece(piece_bytes / sizeof(Stored));
    auto left = static_cast<std::uint64_t>(tensor.elements());
    for (std::uint64_t offset = payload() + tensor.begin; left > 0;) {
      std::size_t const count = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), left));
      read_at(where, path_, file_, offset, piece.data(), count * sizeof(Stored));
      for (std::size_t index = 0; index < count; ++index) *out++ = static_cast<Real>(conversion(piece[index]));
      offset += count * sizeof(Stored);
      left -= count;
    }
  }

  fs::path path_;
  descriptor file_;
  std::uint64_t bytes_ = 0;
  std::vector<std::uint8_t> header_;
  std::map<std::string, std::string> metadata_;
  std::vector<tensor_info> tensors_;
  std::map<std::string, std::size_t> index_;
};

/// For ranks to compare, which must start from one file: XXH3 of its size, its first MiB (header, and in our own files
/// the checksum of all), and 64 blocks spread over the rest. Does not communicate.
inline std::string identity_of(fs::path const& path) {
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
