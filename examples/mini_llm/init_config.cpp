// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "init_config.hpp"

namespace mini_llm {

namespace detail {

nlohmann::json rotary_base(nlohmann::json const& config) {
  if (config.contains("rope_parameters") && config["rope_parameters"].is_object())
    return config["rope_parameters"].value("rope_theta", nlohmann::json());
  return config.value("rope_theta", nlohmann::json());
}

std::string rotary_scaling(nlohmann::json const& config) {
  for (char const* const table : {"rope_parameters", "rope_scaling"}) {
    if (!config.contains(table) || !config[table].is_object()) continue;
    for (char const* const key : {"rope_type", "type"})
      if (config[table].contains(key) && config[table][key].is_string()) return config[table][key].get<std::string>();
  }
  return "default";
}

}  // namespace detail

void require_same_configuration(fs::path const& weights, model_facts const& model) {
  fs::path const path = weights.parent_path() / "config.json";
  std::error_code code;
  if (!fs::is_regular_file(path, code) || fs::file_size(path, code) > (1U << 20)) return;
  auto const bytes = read_file("init", path);
  nlohmann::json const found = nlohmann::json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!found.is_object())
    throw weft::error("mini_llm::init: " + path.string() + " is no JSON; mend it, or move the weights away from it");
  auto const refuse = [&](std::string const& key, nlohmann::json const& has, nlohmann::json const& wants) {
    throw weft::error("mini_llm::init: " + path.string() + " describes another model: \"" + key + "\" is " +
                      quoted_name(has.is_string() ? has.get<std::string>() : has.dump()) + ", the model wants " +
                      wants.dump() + "; name a file that was written for this --preset");
  };
  nlohmann::json wanted = hugging_face_config(model, 0.0);
  auto const alike = [](nlohmann::json const& left, nlohmann::json const& right) {
    for (auto const& [one, other] : {std::pair{"gelu_new", "gelu_pytorch_tanh"}, std::pair{"silu", "swish"}})
      if ((left == one || left == other) && (right == one || right == other)) return true;
    return left == right;
  };
  for (char const* const key : {"model_type", "n_head", "layer_norm_epsilon", "activation_function",
                                "num_attention_heads", "num_key_value_heads", "rms_norm_eps", "hidden_act"})
    if (found.contains(key) && wanted.contains(key) && !alike(found[key], wanted[key]))
      refuse(key, found[key], wanted[key]);
  if (!model.is_llama) return;
  auto const base = detail::rotary_base(found);
  if (!base.is_null() && base != wanted["rope_theta"]) refuse("rope_theta", base, wanted["rope_theta"]);
  if (auto const scaling = detail::rotary_scaling(found); scaling != "default")
    refuse("rope_scaling", nlohmann::json(scaling), nlohmann::json());
}

}  // namespace mini_llm
