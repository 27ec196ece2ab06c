// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "init_weights.hpp"

namespace mini_llm {

init_weights::init_weights(fs::path const& path, std::vector<weft::parameters::parameter_descriptor> const& parameters)
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

std::span<std::int64_t const> init_weights::shape_of(weft::parameters::parameter_descriptor const& parameter) {
  return {parameter.extents, static_cast<std::size_t>(parameter.dimensions)};
}

bool init_weights::is_constant(std::string const& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") || name.ends_with(".rotary_emb.inv_freq");
}

std::string init_weights::name_in_file(std::string const& name) const {
  for (std::string_view const prefix : {"transformer.", "model."})
    if (!file_.contains(name) && name.starts_with(prefix) && file_.contains(name.substr(prefix.size())))
      return name.substr(prefix.size());
  return name;
}

void init_weights::require_tied_head() const {
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

void init_weights::refuse(std::string const& what) const {
  throw weft::error("mini_llm::init: " + file_.path().string() + " holds another model: " + what +
                    "; name a file that was written for this --preset");
}

}  // namespace mini_llm
