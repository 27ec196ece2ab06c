// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/run_collective.hpp>

#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::transport {

/// Named facts on which all ranks must agree before they start: model, program, precision, build, data.
class facts {
 public:
  void add(std::string name, std::string value) { all_.emplace_back(std::move(name), std::move(value)); }

  [[nodiscard]] std::string text() const {
    std::string joined;
    for (auto const& [name, value] : all_) joined += name + '\t' + value + '\n';
    return joined;
  }

  static facts parse(std::string_view text) {
    facts result;
    while (!text.empty()) {
      auto const end = text.find('\n');
      auto const tab = text.find('\t');
      if (end == std::string_view::npos || tab == std::string_view::npos || tab > end) break;
      result.add(std::string(text.substr(0, tab)), std::string(text.substr(tab + 1, end - tab - 1)));
      text.remove_prefix(end + 1);
    }
    return result;
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> const& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

/// Every rank's text, on every rank. Collective; two all-gathers (lengths, then texts padded to the longest).
inline std::vector<std::string> gather_texts(endpoint& door, std::string const& mine,
                                             double deadline = default_deadline) {
  auto const ranks = static_cast<std::size_t>(door.size());
  std::uint64_t const length = mine.size();
  std::vector<std::uint64_t> lengths(ranks);
  all_gather(door, &length, sizeof(length), lengths.data(), deadline);
  std::size_t longest = 0;
  for (auto const each : lengths) longest = (std::max)(longest, static_cast<std::size_t>(each));
  std::string padded = mine;
  padded.resize(longest);
  std::string everything(longest * ranks, '\0');
  if (longest > 0) all_gather(door, padded.data(), longest, everything.data(), deadline);
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    texts.push_back(everything.substr(rank * longest, static_cast<std::size_t>(lengths[rank])));
  return texts;
}

/// Throws the same `agreed_error` on every rank unless all ranks hold the same facts; names the first fact that
/// differs, the ranks and both values. Collective.
inline void require_agreement(endpoint& door, facts const& mine, double deadline = default_deadline) {
  auto const texts = gather_texts(door, mine.text(), deadline);
  auto const reference = facts::parse(texts[0]);
  for (int rank = 1; rank < door.size(); ++rank) {
    if (texts[static_cast<std::size_t>(rank)] == texts[0]) continue;
    auto const other = facts::parse(texts[static_cast<std::size_t>(rank)]);
    std::string difference = "their lists of facts differ";
    for (std::size_t index = 0; index < reference.all().size() && index < other.all().size(); ++index) {
      auto const& [name, value] = reference.all()[index];
      auto const& [other_name, other_value] = other.all()[index];
      if (name == other_name && value == other_value) continue;
      difference = name + " is \"" + value + "\" on rank 0 and \"" + other_value + "\" on rank " + std::to_string(rank);
      break;
    }
    throw agreed_error("weft::transport: the ranks do not agree: " + difference +
                           "; start every rank with the same executable, options and data",
                       {.rank = rank});
  }
}

/// Runs `function` on every rank and lets all of them pass, or throws on all of them what the lowest failing rank
/// said: a file that one node lacks must not leave the others waiting. Collective.
template <class Function>
void all_or_none(endpoint& door, Function&& function, double deadline = default_deadline) {
  std::string problem;
  try {
    function();
  } catch (std::exception const& failure) {
    problem = failure.what();
    if (problem.empty()) problem = "an exception without a message";
  } catch (...) {
    problem = "an exception that is no std::exception";
  }
  constexpr std::size_t most = 4096;  // of a message that every rank is sent
  if (problem.size() > most) problem = problem.substr(0, most) + " ...";
  auto const problems = gather_texts(door, problem, deadline);
  int failed = 0;
  int first = -1;
  for (int rank = door.size() - 1; rank >= 0; --rank)
    if (!problems[static_cast<std::size_t>(rank)].empty()) {
      ++failed;
      first = rank;
    }
  if (first < 0) return;
  std::string const& text = problems[static_cast<std::size_t>(first)];
  bool const everywhere = failed == door.size();
  throw agreed_error(everywhere ? text : text + " (on rank " + std::to_string(first) + ")", {.rank = first});
}

}  // namespace weft::inline v1::transport
