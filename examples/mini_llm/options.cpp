// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "options.hpp"

namespace mini_llm {

int groups_of(options const& chosen) {
  return chosen.data_ranks > chosen.gradient_groups ? chosen.data_ranks : chosen.gradient_groups;
}

std::string partition_text(std::vector<int> const& partition) {
  if (partition.empty()) return "auto";
  std::string text;
  for (int const layers : partition) text += (text.empty() ? "" : ",") + std::to_string(layers);
  return text;
}

std::string speeds_text(options const& chosen) {
  if (chosen.speeds.empty()) return chosen.measure_speeds ? "measure" : "equal";
  std::string text;
  for (double const speed : chosen.speeds) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%.12g", text.empty() ? "" : ",", speed);
    text += number;
  }
  return text;
}

std::string trace_steps_text(options const& chosen) {
  if (chosen.trace_first == 0) return "default";
  return std::to_string(chosen.trace_first) + ':' + std::to_string(chosen.trace_last);
}

nlohmann::ordered_json to_json(options const& chosen) {
  nlohmann::ordered_json object;
  if (!chosen.data.empty()) object["data"] = chosen.data;
  object["data-format"] = to_text(chosen.format);
  object["preset"] = to_text(chosen.preset);
  if (!chosen.init.empty()) object["init"] = chosen.init;
  object["dropout"] = chosen.dropout;
  object["schedule"] = chosen.schedule;
  if (chosen.replay != 0) object["replay"] = chosen.replay;
  if (chosen.shape.chunks != 0) object["chunks"] = chosen.shape.chunks;
  if (chosen.shape.group != 0) object["chunk-group"] = chosen.shape.group;
  if (chosen.shape.waves != 0) object["waves"] = chosen.shape.waves;
  if (chosen.shape.memory_limit != 0) object["keep"] = chosen.shape.memory_limit;
  object["micro-batches"] = chosen.micro_batches;
  object["data-ranks"] = chosen.data_ranks;
  object["reduce"] = chosen.reduce;
  object["gradient-groups"] = chosen.gradient_groups;
  object["window"] = chosen.window;
  object["clip-policy"] = chosen.clip_policy;
  object["post-validation"] = chosen.post_validation;
  object["partition"] = partition_text(chosen.partition);
  object["speeds"] = speeds_text(chosen);
  object["recompute"] = to_text(chosen.recompute);
  object["transport"] = to_text(chosen.transport);
  object["door"] = to_text(chosen.door);
  object["chunk-bytes"] = chosen.chunk_bytes;
  object["channels"] = chosen.channels;
  if (chosen.ranks != 0) object["ranks"] = chosen.ranks;
  if (chosen.mixed) object["mixed"] = true;
  object["timeout"] = chosen.timeout_seconds;
  object["batch"] = chosen.batch;
  object["seq"] = chosen.sequence_length;
  object["steps"] = chosen.steps;
  object["lr"] = chosen.learning_rate;
  object["warmup"] = chosen.warmup;
  object["weight-decay"] = chosen.weight_decay;
  object["clip"] = chosen.clip;
  object["precision"] = to_text(chosen.precision);
  object["seed"] = chosen.seed;
  object["out"] = chosen.out;
  object["log-every"] = chosen.log_every;
  object["eval-every"] = chosen.eval_every;
  object["eval-batches"] = chosen.eval_batches;
  object["save-every"] = chosen.save_every;
  if (!chosen.trace.empty()) object["trace"] = chosen.trace;
  if (chosen.trace_first > 0) object["trace-steps"] = trace_steps_text(chosen);
  object["sample-bytes"] = chosen.sample_bytes;
  object["prompt"] = chosen.prompt;
  object["temperature"] = chosen.temperature;
  object["top-k"] = chosen.top_k;
  return object;
}

nlohmann::json resume_configuration(options const& chosen, int copies) {
  return {{"preset", to_text(chosen.preset)},
          {"batch", chosen.batch},
          {"micro-batches", chosen.micro_batches / copies},
          {"gradient-groups", groups_of(chosen) * copies},
          {"reduce", chosen.reduce},
          {"seq", chosen.sequence_length},
          {"steps", chosen.steps},
          {"lr", chosen.learning_rate},
          {"warmup", chosen.warmup},
          {"weight-decay", chosen.weight_decay},
          {"clip", chosen.clip},
          {"precision", to_text(chosen.precision)},
          {"dropout", chosen.dropout}};
}

}  // namespace mini_llm
