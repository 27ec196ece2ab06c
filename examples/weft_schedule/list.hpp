// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "request.hpp"

#include <weft/schedule/registry.hpp>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>

namespace weft_schedule {

inline std::string options_of(weft::schedule::takes const& parameters) {
  std::string text;
  if (parameters.chunks) text += " --chunks";
  if (parameters.group) text += " --group";
  if (parameters.waves) text += " --waves";
  if (parameters.memory_limit) text += " --limit";
  if (parameters.steps) text += " --steps";
  if (parameters.replicas) text += " --replicas";
  if (parameters.steps_before) text += " --steps-before";
  return text.empty() ? text : text.substr(1);
}

/// Every schedule with its rule, its formulas and its paper. Throws `usage_error` for an unknown format.
inline std::string list_text(std::string const& format) {
  if (format != "text" && format != "json")
    throw usage_error("--format: \"" + format + "\" is not known here; use text or json");
  std::string text =
      "F, I, W, B = I + W: durations of one stage; p ranks, r a rank, v stages per rank, M micro-batches, N a group\n";
  auto all = nlohmann::ordered_json::array();
  for (auto const& each : weft::schedule::schedules) {
    std::string const options = options_of(each.parameters);
    if (format == "json") {
      nlohmann::ordered_json object;
      object["name"] = each.name;
      object["aliases"] = each.aliases;
      object["rule"] = each.rule;
      object["idle"] = each.idle;
      object["peak_activations"] = each.peak;
      object["weight_copies"] = each.weights;
      object["options"] = options;
      object["use"] = each.use;
      object["paper"] = each.paper;
      all.push_back(object);
      continue;
    }
    text +=
        '\n' + std::string(each.name) + (*each.aliases != '\0' ? "  (" + std::string(each.aliases) + ")" : "") + '\n';
    auto const line = [&text](char const* what, std::string const& value) {
      if (!value.empty()) text += std::string("  ") + what + value + '\n';
    };
    line("legal:    ", each.rule);
    line("idle:     ", each.idle);
    line("keeps:    ", std::string(each.peak) + " activations; copies of the weights: " + each.weights);
    line("options:  ", options);
    line("use it    ", each.use);
    line("paper:    ", each.paper);
  }
  return format == "json" ? all.dump(2) + '\n' : text;
}

}  // namespace weft_schedule
