// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedule_table.hpp"

namespace mini_llm {

std::string read_table_text(std::string const& path) {
  constexpr std::uintmax_t most = std::uintmax_t{64} << 20U;
  std::error_code code;
  auto const size = fs::file_size(path, code);
  if (!code && (size == 0 || size > most))
    throw weft::error("mini_llm::schedule: " + path + " has " + std::to_string(size) +
                      " bytes, which is no table; write one line per rank, such as 0F0,0F1,0B0,0B1");
  auto const bytes = read_file("schedule", path);
  return std::string(bytes.begin(), bytes.end());
}

weft::schedule::program read_table(std::string const& path, std::string_view text) {
  weft::schedule::csv_options how;
  how.name = "custom";
  while (text.starts_with('#')) {
    std::string_view const line = text.substr(0, text.find('\n'));
    if (line.find("copies=2") < line.size() || line.find("placement=two-way") < line.size()) how.copies = 2;
    if (line.find("asynchronous=1") < line.size())
      throw weft::error("mini_llm::schedule: " + path +
                        " steps between its backwards; give such a schedule by its name");
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  }
  auto read = weft::schedule::parse_csv(text, how);
  // Stages that stand on two rows each: two copies of the model, which PyTorch's grammar has no word for.
  if (how.copies == 1 && read.problem.what == weft::schedule::csv_fault::stage_on_two_ranks) {
    how.copies = 2;
    read = weft::schedule::parse_csv(text, how);
  }
  if (!read.problem.ok()) throw weft::error("mini_llm::schedule: " + path + ": " + explain(read.problem));
  if (auto const found = weft::schedule::play(read.table.view()); !found.playable())
    throw weft::error("mini_llm::schedule: " + path + ": " + explain(found));
  return std::move(read.table);
}

weft::schedule::program table_of(options const& chosen, int ranks) {
  int const count = chosen.micro_batches * chosen.gradient_groups;
  int const original = chosen.replay > 0 ? chosen.replay : ranks;
  if (is_asynchronous(chosen) && original > 0) {  // a window in mid-run, which reads all that is kept
    auto const plan = windows_of(chosen, original);
    return plan.table(plan.oldest_read, 2 * original);
  }
  auto table = has_own_table(chosen) ? read_table(chosen.schedule, chosen.table)
                                     : weft::schedule::make_table(chosen.schedule, original, count, chosen.shape);
  return chosen.replay > 0 && ranks > 0 ? weft::schedule::serial_replay(table.view()) : std::move(table);
}

}  // namespace mini_llm
