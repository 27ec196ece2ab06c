// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "safetensors_reader.hpp"

#include <weft/error.hpp>
#include <weft/parameters/parameter_descriptor.hpp>

#include <set>
#include <span>
#include <string>
#include <vector>

namespace mini_llm {

/// The weights that `--init` names: our own `model.safetensors`, or a file of Hugging Face's GPT-2 or Llama with the
/// sizes of this model. All of it is compared with the model before the first tensor is read: nothing
/// is left out silently, layers least of all. Does not communicate; every rank reads what it needs.
class init_weights {
 public:
  /// `parameters`: those of the whole model. Errors: a tensor missing, left over or of another shape; an output layer
  /// of its own, where this model shares the embedding's table.
  init_weights(fs::path const& path, std::vector<weft::parameters::parameter_descriptor> const& parameters);

  /// Reads one parameter (host memory, all its elements), converted to Real.
  template <class Real>
  void read(weft::parameters::parameter_descriptor const& parameter, Real* out) const {
    file_.read(name_in_file(parameter.name), shape_of(parameter), out);
    for (std::int64_t element = 0; element < parameter.elements(); ++element)
      if (!std::isfinite(out[element]))
        refuse("tensor " + quoted_name(parameter.name) + " has a number that is not finite (element " +
               std::to_string(element) + ")");
  }

 private:
  static std::span<std::int64_t const> shape_of(weft::parameters::parameter_descriptor const& parameter);

  /// Causal masks and rotary wavelengths, which older files carry: constants, not weights.
  static bool is_constant(std::string const& name);

  /// Files of the bare model, as Hugging Face's hub carries them, leave "transformer." (GPT-2) or "model." (Llama)
  /// away.
  [[nodiscard]] std::string name_in_file(std::string const& name) const;

  void require_tied_head() const;

  [[noreturn]] void refuse(std::string const& what) const;

  safetensors_reader file_;
};

}  // namespace mini_llm
