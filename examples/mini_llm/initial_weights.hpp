// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "safetensors_reader.hpp"

#include <weft/error.hpp>
#include <weft/parameters/parameter_descriptor.hpp>

#include <span>
#include <string>

namespace mini_llm {

/// Weights under Hugging Face's GPT-2 names, as `--init` takes them: with or without the prefix "transformer." (both
/// are found in the wild); masks and a tied "lm_head.weight" in the file are passed over.
class initial_weights {
 public:
  explicit initial_weights(fs::path const& path) : file_(path) {
    if (file_.has_checksum()) file_.verify();
  }

  /// Errors: the tensor is missing or has another shape or a type that is not floating-point.
  template <class Real>
  void read(weft::parameters::parameter_descriptor const& parameter, Real* out) const {
    constexpr std::string_view prefix = "transformer.";
    std::string name = parameter.name;
    if (!file_.contains(name) && name.starts_with(prefix)) name = name.substr(prefix.size());
    file_.read(name,
               std::span<std::int64_t const>(parameter.extents, static_cast<std::size_t>(parameter.dimensions)), out);
  }

 private:
  safetensors_reader file_;
};

}  // namespace mini_llm
