// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/schedule/forward_only.hpp>
#include <weft/schedule/gpipe.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/serial.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>

#include <string>
#include <string_view>

namespace weft::inline v1::schedule {

/// Throws the verdict of a program that cannot be played.
inline void require_playable(verdict const& found, std::string_view name) {
  if (found.playable()) return;
  throw error("weft::schedule::" + std::string(name) + ": " + explain(found),
              {found.rank, found.stage, found.micro_batch, found.peer, -1});
}

/// A policy's program for a shape that is known at start-up: checked, lowered, and played under rendezvous.
/// Throws `weft::error` with the policy's rule, or with the verdict. Does not communicate: every rank makes the same.
template <class Policy>
program make_program(int ranks, int micro_batches, lower_options const& options = {}) {
  validity const found = Policy::check(ranks, micro_batches);
  if (!found.legal()) throw error(explain(found, Policy::name));
  program const table = write_table<Policy>(ranks, micro_batches);
  verdict proof;
  program result = lower(table.view(), options, &proof);
  require_playable(proof, Policy::name);
  return result;
}

/// A schedule's own name for any of the names that the field has for it, whatever the case and with '-', '_' or nothing
/// between the words: "ZB1P", "zb_h1" and "zero_bubble_h1" are "zb-h1". Empty for any other.
inline std::string canonical_name(std::string_view name) {
  std::string key;
  for (char const letter : name)
    if (letter != '-' && letter != '_' && letter != ' ')
      key += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  constexpr char const* names[][2] = {{"serial", serial::name},
                                      {"gpipe", gpipe::name},
                                      {"afab", gpipe::name},
                                      {"1f1b", one_f_one_b::name},
                                      {"onefoneb", one_f_one_b::name},
                                      {"dapple", one_f_one_b::name},
                                      {"zbh1", zero_bubble_h1::name},
                                      {"zerobubbleh1", zero_bubble_h1::name},
                                      {"zb1p", zero_bubble_h1::name},
                                      {"zerobubble", zero_bubble_h1::name},
                                      {"forwardonly", forward_only::name}};
  for (auto const& [known, own] : names)
    if (key == known) return own;
  return {};
}

/// The same by name: "serial", "gpipe", "1f1b", "zb-h1" or "forward_only", or what `canonical_name` knows as one of
/// them. Throws, naming them, for any other.
inline program make_program(std::string_view name, int ranks, int micro_batches, lower_options const& options = {}) {
  std::string const known = canonical_name(name);
  if (known == serial::name) return make_program<serial>(ranks, micro_batches, options);
  if (known == gpipe::name) return make_program<gpipe>(ranks, micro_batches, options);
  if (known == one_f_one_b::name) return make_program<one_f_one_b>(ranks, micro_batches, options);
  if (known == zero_bubble_h1::name) return make_program<zero_bubble_h1>(ranks, micro_batches, options);
  if (known == forward_only::name) return make_program<forward_only>(ranks, micro_batches, options);
  throw error(explain(validity{rule::needs_known_name, 0, 0}, std::string(name)));
}

/// Any table of compute actions (hand-made, planned, read from a file): checked, lowered, and played.
inline program make_program(program_view const& table, lower_options const& options = {}) {
  require_playable(play(table), table.name);
  verdict proof;
  program result = lower(table, options, &proof);
  require_playable(proof, table.name);
  return result;
}

}  // namespace weft::inline v1::schedule
