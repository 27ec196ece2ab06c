// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/extern_transport.hpp>
#include <weft/transport/run_collective.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::transport {

/// Named facts on which all ranks must agree before they start: model, program, precision, build, data.
class facts {
 public:
  /// Tabs and line breaks separate facts where they travel, so a fact has none.
  void add(std::string name, std::string value) {
    for (std::string* const text : {&name, &value})
      for (char& letter : *text)
        if (letter == '\t' || letter == '\n') letter = ' ';
    all_.emplace_back(std::move(name), std::move(value));
  }

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
WEFT_TRANSPORT_INLINE std::vector<std::string> gather_texts(endpoint& door, std::string const& mine,
                                                            double deadline = default_deadline);

namespace detail {

/// "seed is "1" on rank 0 and "2" on rank 3": the first fact in which a rank differs from rank 0; empty where none
/// does.
WEFT_TRANSPORT_INLINE std::string first_difference(facts const& reference, facts const& other, int rank);

[[noreturn]] WEFT_TRANSPORT_INLINE void refuse_difference(std::string const& difference, int rank,
                                                          std::string const& remedy);

}  // namespace detail

/// Throws the same `agreed_error` on every rank unless all ranks hold the same facts; names the first fact that
/// differs, the ranks and both values. Collective.
WEFT_TRANSPORT_INLINE void require_agreement(endpoint& door, facts const& mine, double deadline = default_deadline);

/// The same, and all ranks must be of one build (`build`: compiler, library versions, executable) unless
/// `several_builds`, which must be said on all of them or on none, by the word `allowed_by`. Collective.
WEFT_TRANSPORT_INLINE void require_agreement(endpoint& door, facts const& mine, facts const& build, bool several_builds,
                                             std::string const& allowed_by, double deadline = default_deadline);

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

#if defined(WEFT_DEFINES_TRANSPORT)

WEFT_TRANSPORT_INLINE std::vector<std::string> gather_texts(endpoint& door, std::string const& mine, double deadline) {
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

namespace detail {
WEFT_TRANSPORT_INLINE std::string first_difference(facts const& reference, facts const& other, int rank) {
  auto const& ours = reference.all();
  auto const& theirs = other.all();
  for (std::size_t index = 0; index < ours.size() && index < theirs.size(); ++index)
    if (ours[index].first == theirs[index].first && ours[index].second != theirs[index].second)
      return ours[index].first + " is \"" + ours[index].second + "\" on rank 0 and \"" + theirs[index].second +
             "\" on rank " + std::to_string(rank);
  auto const lacks = [](auto const& all, std::string const& name) {
    return std::none_of(all.begin(), all.end(), [&](auto const& each) { return each.first == name; });
  };
  for (auto const& [name, value] : ours)
    if (lacks(theirs, name)) return "rank 0 says its " + name + ", and rank " + std::to_string(rank) + " does not";
  for (auto const& [name, value] : theirs)
    if (lacks(ours, name)) return "rank " + std::to_string(rank) + " says its " + name + ", and rank 0 does not";
  return ours == theirs ? std::string() : "their lists of facts differ";
}

WEFT_TRANSPORT_INLINE void refuse_difference(std::string const& difference, int rank, std::string const& remedy) {
  throw agreed_error("weft::transport: the ranks do not agree: " + difference + "; " + remedy, {.rank = rank});
}
}  // namespace detail

WEFT_TRANSPORT_INLINE void require_agreement(endpoint& door, facts const& mine, double deadline) {
  auto const texts = gather_texts(door, mine.text(), deadline);
  auto const reference = facts::parse(texts[0]);
  for (int rank = 1; rank < door.size(); ++rank) {
    auto const& text = texts[static_cast<std::size_t>(rank)];
    if (text == texts[0]) continue;
    detail::refuse_difference(detail::first_difference(reference, facts::parse(text), rank), rank,
                              "start every rank with the same executable, options and data");
  }
}

WEFT_TRANSPORT_INLINE void require_agreement(endpoint& door, facts const& mine, facts const& build, bool several_builds,
                                             std::string const& allowed_by, double deadline) {
  facts all;
  all.add("a mixed job", several_builds ? "allowed" : "not allowed");
  for (auto const& [name, value] : mine.all()) all.add(name, value);
  require_agreement(door, all, deadline);
  auto const texts = gather_texts(door, build.text(), deadline);
  auto const reference = facts::parse(texts[0]);
  for (int rank = 1; rank < door.size() && !several_builds; ++rank)
    if (auto const& text = texts[static_cast<std::size_t>(rank)]; text != texts[0])
      detail::refuse_difference(detail::first_difference(reference, facts::parse(text), rank), rank,
                                "start every rank with the same executable, options and data, or allow a mixed job (" +
                                    allowed_by + ") where ranks of several builds are meant");
}

#endif

}  // namespace weft::inline v1::transport
