// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/schedule/breadth_first.hpp>
#include <weft/schedule/chimera.hpp>
#include <weft/schedule/dual_pipe.hpp>
#include <weft/schedule/dual_pipe_v.hpp>
#include <weft/schedule/eager_1f1b.hpp>
#include <weft/schedule/extern_schedules.hpp>
#include <weft/schedule/forward_only.hpp>
#include <weft/schedule/gpipe.hpp>
#include <weft/schedule/interleaved_1f1b.hpp>
#include <weft/schedule/interleaved_zero_bubble.hpp>
#include <weft/schedule/latency_aware.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/pipedream.hpp>
#include <weft/schedule/pipedream_2bw.hpp>
#include <weft/schedule/pipedream_replicated.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/serial.hpp>
#include <weft/schedule/shape.hpp>
#include <weft/schedule/v_half.hpp>
#include <weft/schedule/v_min.hpp>
#include <weft/schedule/validity.hpp>
#include <weft/schedule/wave.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/schedule/zero_bubble_auto.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>
#include <weft/schedule/zero_bubble_h2.hpp>
#include <weft/schedule/zero_bubble_v.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::inline v1::schedule {

/// Which members of a `shape` a schedule takes.
struct takes {
  bool chunks = false;
  bool group = false;
  bool waves = false;
  bool memory_limit = false;
  bool steps = false;
  bool steps_before = false;
  bool replicas = false;
};

/// Whether a schedule is made by looking at the others.
enum class choice : std::uint8_t {
  none,
  to_measure,  ///< the best of those without a choice, made better (latency-aware)
  among_all    ///< the best of all (auto)
};

/// One schedule that can be named at run time: what `weft-schedule list` prints, and how its table is made.
struct schedule_entry {
  char const* name;
  char const* aliases;  ///< other names, blanks between them; case, '-' and '_' never matter
  char const* rule;     ///< which shapes are legal
  char const* idle;  ///< time a rank is idle; F, I, W, B as durations of one stage, p ranks, v chunks, M micro-batches
  char const* peak;  ///< activations kept on rank r, in micro-batches of one stage
  char const* weights;  ///< weights kept, in models
  char const* use;
  char const* paper;
  takes parameters;
  validity (*check)(shape const&, int ranks, int micro_batches);
  program (*table)(shape const&, int ranks, int micro_batches);  ///< throws with the rule that is broken
  choice chooses = choice::none;
};

namespace detail {

/// A policy is made of a shape by its `of`, where it has parameters.
template <class Policy>
constexpr Policy policy_of(shape const& chosen) {
  if constexpr (requires { Policy::of(chosen); })
    return Policy::of(chosen);
  else
    return Policy{};
}

template <class Policy, takes Parameters>
[[gnu::cold]] constexpr validity check_named(shape const& chosen, int ranks, int micro_batches) {
  Policy const policy = policy_of<Policy>(chosen);
  if (!Parameters.chunks && chosen.chunks != 0 && chosen.chunks != policy.chunks)
    return {rule::chunks_are_fixed, chosen.chunks, policy.chunks};
  if (!Parameters.group && chosen.group != 0) return {rule::takes_no_group, chosen.group, 0};
  if (!Parameters.waves && chosen.waves != 0) return {rule::takes_no_waves, chosen.waves, 0};
  if (!Parameters.memory_limit && chosen.kept_percent != 0) return {rule::takes_no_limit, chosen.kept_percent, 0};
  if (!Parameters.memory_limit && chosen.memory_limit != 0) return {rule::takes_no_limit, chosen.memory_limit, 0};
  if (!Parameters.steps && chosen.steps != 0) return {rule::takes_no_steps, chosen.steps, 0};
  if (!Parameters.steps_before && chosen.steps_before != 0) return {rule::takes_no_steps, chosen.steps_before, 0};
  if (!Parameters.replicas && chosen.replicas != nullptr) return {rule::takes_no_replicas, chosen.replicated_stages, 0};
  return policy.check(ranks, micro_batches);
}

template <class Policy, takes Parameters>
[[gnu::cold]] program table_named(shape const& chosen, int ranks, int micro_batches);

#if defined(WEFT_DEFINES_SCHEDULES)
template <class Policy, takes Parameters>
[[gnu::cold]] program table_named(shape const& chosen, int ranks, int micro_batches) {
  if (validity const found = check_named<Policy, Parameters>(chosen, ranks, micro_batches); !found.legal())
    throw error(explain(found, Policy::name));
  return write_table(ranks, micro_batches, policy_of<Policy>(chosen));
}
#endif

template <class Policy, takes Parameters = takes{}>
constexpr schedule_entry entry(char const* aliases, char const* rule, char const* idle, char const* peak,
                               char const* weights, char const* use, char const* paper) {
  return {Policy::name,
          aliases,
          rule,
          idle,
          peak,
          weights,
          use,
          paper,
          Parameters,
          &check_named<Policy, Parameters>,
          &table_named<Policy, Parameters>};
}

// Of the schedules that look at the others; see detail/chosen_tables.hpp.
WEFT_SCHEDULES_INLINE validity check_chosen(shape const& chosen, int ranks, int micro_batches);
WEFT_SCHEDULES_INLINE program latency_aware_table(shape const& chosen, int ranks, int micro_batches);
WEFT_SCHEDULES_INLINE program automatic_table(shape const& chosen, int ranks, int micro_batches);

}  // namespace detail

/// Every schedule with a name: the one list that command lines, errors and documents draw on.
inline constexpr schedule_entry schedules[] = {
    detail::entry<serial>("", "1 rank", "0", "1", "1", "to debug, and as the yardstick of every other", "-"),
    detail::entry<gpipe>("afab", "any", "(p - 1)(F + B)", "M", "1", "when memory is no concern, or with recompute",
                         "Huang et al., GPipe, arXiv 1811.06965"),
    detail::entry<one_f_one_b>("onefoneb pipedreamflush dapple", "any", "(p - 1)(F + B)", "min(p - r, M)", "1",
                               "the default",
                               "Narayanan et al., arXiv 2006.09503; Fan et al., DAPPLE, arXiv 2007.01045"),
    detail::entry<eager_1f1b>("eager eager1f1b", "any", "(p - 1)(F + B)", "min(2 (p - r) - 1, M)", "1",
                              "where hops are felt and memory allows twice 1F1B's activations",
                              "Zhuang et al., arXiv 2211.05322"),
    detail::entry<interleaved_1f1b_values, takes{.chunks = true, .group = true}>(
        "interleaved interleaved1f1b megatron",
        "any; a group N, where given: p <= N <= M, and M mod N is 0 or at least p", "(p - 1)(F + B) where p divides M",
        "min((v - 1) N + 2 (p - r - 1) + 1, M v)", "1", "many micro-batches, fast links, p a divisor of M",
        "Narayanan et al., arXiv 2104.04473"),
    detail::entry<breadth_first_values<backward_order::ascending>, takes{.chunks = true, .group = true}>(
        "breadthfirst bfs", "any", "(p - 1)(F + B) per group of at least p micro-batches", "min(N, M) v", "1",
        "with sharded weights, which it gathers once per chunk and group", "Lamy-Poirier, arXiv 2211.05953"),
    detail::entry<breadth_first_values<backward_order::descending>, takes{.chunks = true, .group = true}>(
        "loopedbfs", "any", "as breadth-first", "min(N, M) v", "1", "as breadth-first; backward walks downwards",
        "Lamy-Poirier, arXiv 2211.05953"),
    detail::entry<zero_bubble_h1>("zerobubbleh1 zb1p zerobubble", "any",
                                  "(p - 1)(F + I - W) where M >= p and W is the "
                                  "shortest",
                                  "min(p, M)", "1", "where 1F1B's bubble hurts and every rank can keep p activations",
                                  "Qi et al., arXiv 2401.10241"),
    detail::entry<zero_bubble_h2>(
        "zerobubbleh2 zb2p", "any", "(p - 1) F where M >= 2 p - 1 and F = I = W; each rank's span has no bubble",
        "min(2 p - 1, M)", "1", "where twice ZB-H1's activations fit and steps are post-validated",
        "Qi et al., arXiv 2401.10241"),
    detail::entry<zero_bubble_auto_values, takes{.memory_limit = true}>(
        "zerobubbleauto zbauto zb2pauto", "any; a limit of activations of at least 1",
        "what its search finds; none in a rank's span where limit and M allow", "the limit, 2 p where none is given",
        "1", "where passes and hops have been measured, or stages differ, and steps are post-validated",
        "Qi et al., arXiv 2401.10241, sec. 3"),
    detail::entry<interleaved_zero_bubble_values, takes{.chunks = true, .group = true}>(
        "interleavedzerobubble interleavedzb1p", "as interleaved-1f1b", "(p - 1)(F + I - W) where p divides M",
        "min((v - 1) N + p, M v)", "1", "where interleaved 1F1B's bubble still hurts",
        "Qi et al., arXiv 2401.10241; PyTorch's InterleavedZeroBubble"),
    detail::entry<zero_bubble_v>("zerobubblev zbv zbvzerobubble", "any; a rank's span has no bubble where M >= 2 p - 1",
                                 "(p - 1) F where M >= 2 p - 1 and F = I = W", "min(2 p, M + 1 + r, 2 M)", "1",
                                 "where F, I and W take equally long; tied embeddings share a rank",
                                 "Qi et al., arXiv 2405.15362"),
    detail::entry<v_half>("vhalf", "any", "about half of 1F1B's", "at most min(p + 2, 2 M)", "1",
                          "where zb-v does not fit", "Qi et al., arXiv 2405.15362"),
    detail::entry<v_min>("vmin", "any", "at most (4 p - 4) F where F = I = W", "at most min(2 floor((p + 4) / 3), 2 M)",
                         "1", "where nothing else fits", "Qi et al., arXiv 2405.15362"),
    detail::entry<wave_values, takes{.chunks = true, .waves = true}>(
        "hanayo", "any; chunks 2 a wave", "falls with the number of waves", "at most min(p, M) v", "1",
        "few micro-batches and fast links, without a second copy of the model", "Liu et al., Hanayo, arXiv 2308.15762"),
    detail::entry<dual_pipe_v>("dualpipev", "M >= 2 p", "(p - 1)(2 F + I - W) where W <= I <= F", "2 p + 1", "1",
                               "where experts' messages can hide behind another pass", "DeepSeek-AI, DualPipe"),
    detail::entry<dual_pipe>("dualpipe", "p even, M even, M >= 2 p", "(p / 2 - 1)(2 F + I - W) where W <= I <= F",
                             "p + 1", "2", "as dualpipe-v, with memory for two models",
                             "DeepSeek-AI, DeepSeek-V3, arXiv 2412.19437"),
    detail::entry<chimera>("", "p even, M even", "(p - 2)(min(F, B) + M / p |F - B|) where p divides M",
                           "p / 2 + 1 + min(r, p - 1 - r)", "2", "few micro-batches and memory for two models",
                           "Li and Hoefler, Chimera, arXiv 2107.06925"),
    detail::entry<pipedream_values<weight_stash>, takes{.steps_before = true}>(
        "pipedreamstash", "any; at most 255 ranks", "(p - 1)(F + B) in a whole run", "min(p - r, M)",
        "p - r versions on rank r", "where the pipeline must never drain and training stands old gradients",
        "Narayanan et al., PipeDream, arXiv 1806.03377"),
    detail::entry<pipedream_values<vertical_sync>, takes{.steps_before = true}>(
        "pipedreamverticalsync", "any; at most 255 ranks", "(p - 1)(F + B) in a whole run", "min(p - r, M)",
        "p versions", "as pipedream, with one gradient of one model", "Narayanan et al., PipeDream, arXiv 1806.03377"),
    detail::entry<pipedream_values<no_stash>, takes{.steps_before = true}>(
        "pipedreamnostash", "any; at most 255 ranks", "(p - 1)(F + B) in a whole run", "min(p - r, M)",
        "1; p - r in a run of several tables", "to see what stashing is for",
        "Narayanan et al., PipeDream, arXiv 1806.03377"),
    detail::entry<pipedream_2bw_values, takes{.steps = true, .steps_before = true}>(
        "2bw pipedream2bw", "at most 255 ranks; with more than 1 step M / steps >= p - 1",
        "(p - 1)(F + B) in a whole run", "min(p - r, M)", "2 versions",
        "as pipedream, where its versions do not fit or its staleness is too large",
        "Narayanan et al., arXiv 2006.09503"),
    detail::entry<pipedream_replicated, takes{.replicas = true}>(
        "1f1brr roundrobin",
        "replicas q of the stages that add up to p; M a multiple of all of them; at most 255 ranks and routes",
        "what its table says", "min(w + 1, M / q), w = floor((p - 1 - ranks before the stage) / q)",
        "w + 1 versions on every rank of a stage", "to plan for stages that cannot be cut equally; not run",
        "Narayanan et al., PipeDream, arXiv 1806.03377"),
    {latency_aware_values::name, "latencyaware crosspipe", "any; a limit of activations, where given, of at least 1",
     "what its search finds; never more than the best of the others with one copy of the weights",
     "what its search finds", "1", "where hops are long against passes or stages are unequal, and have been measured",
     "Chen et al., CrossPipe, arXiv 2507.00217", takes{.memory_limit = true}, &detail::check_chosen,
     &detail::latency_aware_table, choice::to_measure},
    {"auto", "automatic best", "any; a limit of activations, where given, of at least 1", "the least of all",
     "at most the limit", "1", "to choose by measured times", "-",
     takes{.chunks = true, .group = true, .waves = true, .memory_limit = true}, &detail::check_chosen,
     &detail::automatic_table, choice::among_all},
    detail::entry<forward_only>("", "any", "(p - 1) F", "1", "1", "evaluation and generation", "-"),
};

/// A name as it is compared: small letters, without '-', '_' and blanks.
inline std::string name_key(std::string_view name) {
  std::string key;
  for (char const letter : name)
    if (letter != '-' && letter != '_' && letter != ' ')
      key += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  return key;
}

/// The entry of any name that the field has for a schedule ("ZB1P", "zb_h1" and "zero_bubble_h1" are "zb-h1"), or null.
inline schedule_entry const* find_schedule(std::string_view name) {
  std::string const key = name_key(name);
  if (key.empty()) return nullptr;
  for (schedule_entry const& each : schedules) {
    if (name_key(each.name) == key) return &each;
    std::string_view rest = each.aliases;
    while (!rest.empty()) {
      std::string_view const alias = rest.substr(0, rest.find(' '));
      if (alias == key) return &each;
      rest.remove_prefix(alias.size() < rest.size() ? alias.size() + 1 : rest.size());
    }
  }
  return nullptr;
}

/// "serial, gpipe, 1f1b, ... or forward_only".
inline std::string schedule_names() {
  std::string text;
  int left = static_cast<int>(sizeof schedules / sizeof schedules[0]);
  for (schedule_entry const& each : schedules)
    text += (text.empty() ? "" : --left == 1 ? " or " : ", ") + std::string(each.name);
  return text;
}

/// The same; throws `weft::error` with the names there are.
inline schedule_entry const& known_schedule(std::string_view name) {
  if (schedule_entry const* const found = find_schedule(name)) return *found;
  throw error(explain(validity{rule::needs_known_name, 0, 0}, std::string(name)) + schedule_names());
}

/// A schedule's own name for any of its names; empty where there is none.
inline std::string canonical_name(std::string_view name) {
  schedule_entry const* const found = find_schedule(name);
  return found == nullptr ? "" : found->name;
}

}  // namespace weft::inline v1::schedule

// What two of the entries point to needs the list itself.
#include <weft/schedule/compare_schedules.hpp>
