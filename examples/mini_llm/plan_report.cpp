// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan_report.hpp"

namespace mini_llm {

void require_possible(options const& chosen, int launched, model_facts const& model) {
  std::string all;
  for (auto const& each : check(chosen, launched, model)) all += (all.empty() ? "" : "\nmini_llm: ") + each;
  if (!all.empty()) throw weft::error(all);
}

weft::schedule::program make_program(options const& chosen, int world) {
  auto const table = table_of(chosen, pipeline_ranks(chosen, world));
  return weft::schedule::checked_program(table.view(),
                                         {.recompute = chosen.recompute == recompute_kind::full,
                                          .reduce_over_data = chosen.data_ranks > 1,
                                          .reduce_over_copies = true,
                                          .receives = receives_of(chosen),
                                          .norm = chosen.post_validation ? weft::schedule::norm_kind::post_validated
                                                                         : weft::schedule::norm_kind::synchronous});
}

weft::model::extents largest_micro_batch(options const& chosen) {
  int const all = all_micro_batches(chosen);
  return {(chosen.batch + all - 1) / all, chosen.sequence_length};
}

std::string bytes_text(std::int64_t bytes) {
  char text[32];
  double const mib = static_cast<double>(bytes) / (1 << 20);
  std::snprintf(text, sizeof text, mib < 1024.0 ? "%.1f MiB" : "%.2f GiB", mib < 1024.0 ? mib : mib / 1024.0);
  return text;
}

}  // namespace mini_llm
