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
  init_weights(fs::path const& path, std::vector<weft::parameters::parameter_descriptor> const& parameters)
      : file_(path) {
    file_.verify();
    std::set<std::string> left;
    for (tensor_info const& tensor : file_.tensors()) left.insert(tensor.name);
    for (auto const& parameter : parameters) {
      if (parameter.use_site != 0) continue;
      tensor_info const& tensor = file_.at(name_in_file(parameter.name));
      auto const shape = shape_of(parameter);
      if (!std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end()))
        refuse("tensor " + quoted_name(tensor.name) + " has the shape " + shape_text(tensor.shape) +
               ", the model wants " + shape_text(shape));
      left.erase(tensor.name);
    }
    if (left.erase("lm_head.weight") == 1) require_tied_head();
    for (std::string const& name : left)
      if (!is_constant(name)) refuse("the model has no tensor " + quoted_name(name));
  }

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
  static std::span<std::int64_t const> shape_of(weft::parameters::parameter_descriptor const& parameter) {
    return {parameter.extents, static_cast<std::size_t>(parameter.dimensions)};
  }

  /// Causal masks and rotary wavelengths, which older files carry: constants, not weights.
  static bool is_constant(std::string const& name) {
    return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
           name.ends_with(".rotary_emb.inv_freq");
  }

  /// Files of the bare model, as Hugging Face's hub carries them, leave "transformer." (GPT-2) or "model." (Llama)
  /// away.
  [[nodiscard]] std::string name_in_file(std::string const& name) const {
    for (std::string_view const prefix : {"transformer.", "model."})
      if (!file_.contains(name) && name.starts_with(prefix) && file_.contains(name.substr(prefix.size())))
        return name.substr(prefix.size());
    return name;
  }

  void require_tied_head() const {
    tensor_info const& head = file_.at("lm_head.weight");
    tensor_info const& table = file_.at(name_in_file("transformer.wte.weight"));
    bool equal = head.shape == table.shape;
    if (equal) {
      std::vector<float> first(static_cast<std::size_t>(head.elements()));
      std::vector<float> second(first.size());
      file_.read(head.name, head.shape, first.data());
      file_.read(table.name, table.shape, second.data());
      equal = first == second;
    }
    if (!equal)
      refuse("its output layer \"lm_head.weight\" is not the embedding's table, and in this model they are one");
  }

  [[noreturn]] void refuse(std::string const& what) const {
    throw weft::error("mini_llm::init: " + file_.path().string() + " holds another model: " + what +
                      "; name a file that was written for this --preset");
  }

  safetensors_reader file_;
};

}  // namespace mini_llm
