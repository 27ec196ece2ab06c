// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "printable.hpp"

#include <weft/error.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <cstdint>
#include <filesystem>
#include <istream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace mini_llm {

/// Reads `--config`: TOML, or the JSON that an earlier run left as config-run.json (its "options"). Keys are the names
/// of the options without dashes in front; tables only group them. What the command line says wins.
class config_reader : public CLI::Config {
 public:
  static constexpr std::uintmax_t most_bytes = 16384;

  /// Before anything of it is read: a pipe would block, and no settings are large. Throws where it cannot be one.
  static void require_readable(std::string const& path);

  std::string to_config(CLI::App const*, bool, bool, std::string) const override { return {}; }

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  static void add(std::string const& name, std::vector<std::string> values, std::vector<CLI::ConfigItem>& found);

  [[noreturn]] static void refuse(std::string const& what);

  static void read_json(std::string const& content, std::vector<CLI::ConfigItem>& found);

  static std::string text_of(std::string const& name, toml::node const& value);

  static void read_table(toml::table const& table, std::vector<CLI::ConfigItem>& found, int depth = 0);

  static void read_toml(std::string const& content, std::vector<CLI::ConfigItem>& found);
};

}  // namespace mini_llm
