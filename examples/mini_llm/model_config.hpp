// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "check.hpp"
#include "files.hpp"

#include <nlohmann/json.hpp>

namespace mini_llm {

/// The class of Hugging Face's transformers that is this model.
char const* hugging_face_class(model_facts const& model);

/// `config.json` beside `model.safetensors`: with both, `<class>.from_pretrained(<out>)` of Hugging Face's transformers
/// is this model. Of a text, tokens are bytes, so there is no tokenizer file; byte 0, which no text holds, stands for
/// beginning and end.
nlohmann::ordered_json hugging_face_config(model_facts const& model, double dropout);

/// `config-run.json`: all options under "options" (so that `--config` can read the file again), and what else the run
/// depended on under "run".
void write_run_configuration(fs::path const& path, options const& chosen, nlohmann::ordered_json const& run);

}  // namespace mini_llm
