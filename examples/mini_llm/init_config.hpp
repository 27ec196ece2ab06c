// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "check.hpp"
#include "files.hpp"
#include "model_config.hpp"
#include "printable.hpp"

#include <weft/error.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace mini_llm {

namespace detail {

/// Newer versions of transformers keep the rotary base in a table of its own.
nlohmann::json rotary_base(nlohmann::json const& config);

/// Of any stretching of the wavelengths for longer texts: its name, "default" where there is none.
std::string rotary_scaling(nlohmann::json const& config);

}  // namespace detail

/// What the shapes of an `--init` file do not show: heads, epsilon, activation, rotary base. Compares the `config.json`
/// beside it, where there is one, with the model; keys that it leaves out are taken to be right. Throws weft::error
/// where it describes another model, or is no JSON. Does not communicate.
void require_same_configuration(fs::path const& weights, model_facts const& model);

}  // namespace mini_llm
