// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "config_reader.hpp"

namespace mini_llm {

void config_reader::require_readable(std::string const& path) {
  std::error_code code;
  auto const status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) return;  // the parser names it
  if (!std::filesystem::is_regular_file(status))
    refuse(quoted_name(path) + " is no regular file; name a file that can be read");
  if (std::filesystem::file_size(path, code) > most_bytes)
    refuse(quoted_name(path) + " is larger than " + std::to_string(most_bytes) + " bytes, too large for settings");
}

std::vector<CLI::ConfigItem> config_reader::from_config(std::istream& input) const {
  std::string const content{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
  std::vector<CLI::ConfigItem> found;
  std::size_t const first = content.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && content[first] == '{')
    read_json(content, found);
  else
    read_toml(content, found);
  return found;
}

void config_reader::add(std::string const& name, std::vector<std::string> values, std::vector<CLI::ConfigItem>& found) {
  CLI::ConfigItem item;
  item.name = name;
  item.inputs = std::move(values);
  found.push_back(std::move(item));
}

void config_reader::refuse(std::string const& what) {
  throw weft::error("mini_llm::options: --config: " + what + "; lines read like  micro-batches = 4");
}

void config_reader::read_json(std::string const& content, std::vector<CLI::ConfigItem>& found) {
  nlohmann::json const parsed = nlohmann::json::parse(content, nullptr, false);
  if (!parsed.is_object()) refuse("the file begins like JSON, but is none");
  nlohmann::json const& options = parsed.contains("options") ? parsed["options"] : parsed;
  if (!options.is_object()) refuse("its \"options\" are no object");
  for (auto const& [name, value] : options.items()) {
    if (value.is_string())
      add(name, {value.get<std::string>()}, found);
    else if (value.is_number() || value.is_boolean())
      add(name, {value.dump()}, found);
    else
      refuse(quoted_name(name) + " is neither a number nor a text, but " + value.type_name());
  }
}

std::string config_reader::text_of(std::string const& name, toml::node const& value) {
  if (auto const* const text = value.as_string()) return text->get();
  if (auto const* const whole = value.as_integer()) return std::to_string(whole->get());
  if (auto const* const truth = value.as_boolean()) return truth->get() ? "true" : "false";
  if (auto const* const real = value.as_floating_point()) {
    std::ostringstream text;
    text.precision(17);
    text << real->get();
    return text.str();
  }
  refuse(quoted_name(name) + " is neither a number nor a text");
}

void config_reader::read_table(toml::table const& table, std::vector<CLI::ConfigItem>& found, int depth) {
  if (depth > 8) refuse("its tables are nested too deeply");
  for (auto const& [key, value] : table) {
    std::string const name(key.str());
    if (auto const* const group = value.as_table()) {
      read_table(*group, found, depth + 1);
    } else if (auto const* const list = value.as_array()) {
      std::vector<std::string> values;
      for (auto const& entry : *list) values.push_back(text_of(name, entry));
      add(name, std::move(values), found);
    } else {
      add(name, {text_of(name, value)}, found);
    }
  }
}

void config_reader::read_toml(std::string const& content, std::vector<CLI::ConfigItem>& found) {
  try {
    read_table(toml::parse(content), found);
  } catch (toml::parse_error const& problem) {
    refuse("line " + std::to_string(problem.source().begin.line) + " is not TOML (" +
           std::string(problem.description()) + ")");
  }
}

}  // namespace mini_llm
