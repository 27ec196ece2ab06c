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
float half_to_float(std::uint16_t half);

float brain_to_float(std::uint16_t brain);

}  // namespace detail

/// Opens a safetensors file, checks all of its header against the format and the file's length, and reads tensors one
/// at a time in pieces: beyond the header it needs 1 MiB of memory. Every error names the file, what is wrong with it
/// and what to do. Does not communicate; ranks may read one file at the same time.
class safetensors_reader {
 public:
  explicit safetensors_reader(fs::path path);

  [[nodiscard]] fs::path const& path() const { return path_; }
  [[nodiscard]] std::vector<tensor_info> const& tensors() const { return tensors_; }  ///< in the order of their bytes
  [[nodiscard]] std::map<std::string, std::string> const& metadata() const { return metadata_; }
  [[nodiscard]] bool contains(std::string const& name) const { return index_.contains(name); }

  [[nodiscard]] tensor_info const& at(std::string const& name) const;

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
  void verify() const;

 private:
  using json = nlohmann::json;
  static constexpr char const* where = "safetensors";
  static constexpr std::size_t piece_bytes = std::size_t{1} << 20;

  [[nodiscard]] std::uint64_t payload() const { return 8 + header_.size(); }

  [[noreturn]] void damaged(std::string const& what) const;

  /// Fills metadata and tensors. A name that stands twice is an error, so keys are watched while parsing: a JSON object
  /// would keep the last one only.
  void parse();

  [[nodiscard]] tensor_info parse_tensor(std::string const& name, json const& entry) const;

  /// The tensors must follow each other without overlaps or gaps and use up the file.
  void check_layout();

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
std::string identity_of(fs::path const& path);

}  // namespace mini_llm
