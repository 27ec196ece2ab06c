// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/breadth_first.hpp>
#include <weft/schedule/candidate.hpp>
#include <weft/schedule/chimera.hpp>
#include <weft/schedule/costs.hpp>
#include <weft/schedule/dual_pipe.hpp>
#include <weft/schedule/dual_pipe_v.hpp>
#include <weft/schedule/eager_1f1b.hpp>
#include <weft/schedule/gpipe.hpp>
#include <weft/schedule/interleaved_1f1b.hpp>
#include <weft/schedule/interleaved_zero_bubble.hpp>
#include <weft/schedule/latency_aware.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/serial.hpp>
#include <weft/schedule/table.hpp>
#include <weft/schedule/v_half.hpp>
#include <weft/schedule/v_min.hpp>
#include <weft/schedule/wave.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/schedule/zero_bubble_auto.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>
#include <weft/schedule/zero_bubble_h2.hpp>
#include <weft/schedule/zero_bubble_v.hpp>

#include <cstdint>

namespace weft::inline v1::schedule {

/// Most micro-batches whose activations a rank may keep, for `automatic`. (`weft::memory_limit` says it in bytes.)
template <int Count>
struct activation_limit {
  static_assert(Count > 0, "weft::schedule::activation_limit: a rank must keep at least one activation; use 1 or more");
  static constexpr int activations = Count;
};

/// What a rank's part of the model weighs, for a limit in bytes: the activations of one micro-batch, what I keeps of
/// one for W, and the weights with all that belongs to them.
template <std::int64_t Activation, std::int64_t WeightContext = 0, std::int64_t Weights = 0>
struct rank_bytes {
  static_assert(Activation > 0 && WeightContext >= 0 && Weights >= 0,
                "weft::schedule::rank_bytes: a size is below 0, or activations weigh nothing; state bytes");
  static constexpr std::int64_t activation = Activation;
  static constexpr std::int64_t weight_context = WeightContext;
  static constexpr std::int64_t weights = Weights;
};

/// How many copies of the weights a rank may hold: 2 admits dual_pipe and chimera.
template <int Count>
struct weight_copies {
  static constexpr int copies = Count;
};

namespace detail {

/// The wish that a list of types says, in any order.
template <class... Parts>
constexpr schedule_wish wish_of_types() {
  schedule_wish wish;
  [[maybe_unused]] auto const take = [&wish]<class Part>(Part) {
    constexpr bool is_limit = requires { Part::activations; };
    constexpr bool is_bytes = requires { Part::bytes; };
    constexpr bool is_weight = requires { Part::weight_context; };
    constexpr bool is_copies = requires { Part::copies; };
    constexpr bool is_costs = requires(cost_model model) { model = Part::value; };
    static_assert(
        is_limit || is_bytes || is_weight || is_copies || is_costs,
        "weft::schedule::automatic: one of the arguments says nothing about memory or time; use memory_limit, "
        "activation_limit, rank_bytes, weight_copies or costs");
    if constexpr (is_limit) wish.activations = Part::activations;
    if constexpr (is_bytes) wish.bytes = Part::bytes;
    if constexpr (is_weight) {
      wish.activation_bytes = Part::activation;
      wish.weight_context_bytes = Part::weight_context;
      wish.weight_bytes = Part::weights;
    }
    if constexpr (is_copies) wish.copies = Part::copies;
    if constexpr (is_costs) wish.costs = Part::value;
  };
  (take(Parts{}), ...);
  return wish;
}

template <class... Parts>
struct costs_among {
  using type = unit_costs;
};
template <class Part, class... Rest>
struct costs_among<Part, Rest...> {
  static constexpr auto pick() {
    if constexpr (requires(cost_model model) { model = Part::value; })
      return Part{};
    else
      return typename costs_among<Rest...>::type{};
  }
  using type = decltype(pick());
};

template <class... Policies>
struct policy_list {
  static constexpr int size = sizeof...(Policies);
};

/// What `automatic` chooses from: every schedule of the registry that trains with one version of the weights, in its
/// order. `Limit`: of those that search, 0 for none.
template <int Limit, class Costs>
using automatic_policies =
    policy_list<serial, gpipe, one_f_one_b, eager_1f1b, interleaved_1f1b<2>, breadth_first<2>, looped_bfs<2>,
                zero_bubble_h1, zero_bubble_h2, zero_bubble_auto<Limit, Costs, 100>, interleaved_zero_bubble<2>,
                zero_bubble_v, v_half, v_min, wave<1>, dual_pipe_v, dual_pipe, chimera, latency_aware<Limit, Costs>>;

/// One policy's table for one shape, as a constant.
template <class Policy, int Ranks, int MicroBatches>
struct table_constant {
  static constexpr int stages = Policy::chunks * Ranks;
  static constexpr int passes = Policy::work.backward ? (Policy::splits_backward ? 3 : 2) : 1;
  static constexpr table_size size{Ranks, stages, Policy::placement::copies, stages - 1, passes* MicroBatches* stages};
  static constexpr table<size> storage = freeze<size>(write_table<Policy>(Ranks, MicroBatches).view());
  static constexpr table_rows<Ranks> rows = rows_of(storage);
  static constexpr program_view view = view_of(storage, rows, Policy::name);
};

/// Its figures, in a constant of their own.
template <class Policy, int Ranks, int MicroBatches, class Wish>
inline constexpr candidate candidate_of = [] {
  candidate found;
  found.why = left_out::breaks_rule;
  if constexpr (Policy::check(Ranks, MicroBatches).legal())
    found = figures_of_candidate(table_constant<Policy, Ranks, MicroBatches>::view, Wish::value);
  return found;
}();

template <int Index, class Policy, class... Rest>
struct policy_at {
  using type = typename policy_at<Index - 1, Rest...>::type;
};
template <class Policy, class... Rest>
struct policy_at<0, Policy, Rest...> {
  using type = Policy;
};

/// Stands where nothing is legal; the arguments say for which shape.
template <bool Found, int Ranks, int MicroBatches>
struct automatic_must_find_one {
  static_assert(Found,
                "weft::schedule::automatic: no schedule of the registry keeps to the limits for this many ranks and "
                "micro-batches (the arguments of automatic_must_find_one); raise the limit");
  static constexpr bool value = Found;
};

template <int Index, class... Policies>
auto pick(policy_list<Policies...>) -> typename policy_at<Index, Policies...>::type;

/// Not a member of `automatic`: clang 14 holds that private members are no business of its aliases.
template <class Automatic, int Ranks, int MicroBatches>
constexpr int best_or_first() {
  constexpr int best = Automatic::template report<Ranks, MicroBatches>.best;
  static_assert(automatic_must_find_one<(best >= 0), Ranks, MicroBatches>::value);
  return best < 0 ? 0 : best;
}

}  // namespace detail

/// One line of what `automatic` looked at.
struct automatic_line {
  char const* name = "";
  candidate figures;  ///< with the reason where it is left out
};

/// Not a schedule but a choice of one, made while compiling: of the registry's schedules that keep to the limits, the
/// one with the shortest makespan (then the shorter span, then the smaller peak, then the order of the registry).
///
///     using wanted = schedule::automatic<schedule::activation_limit<6>, schedule::costs<20, 20, 10, 1>>;
///     using plan = weft::plan<wanted, weft::pipeline_ranks<4>, weft::micro_batches<16>>;
///     static_assert(std::is_same_v<wanted::chosen<4, 16>, ...>);                          // what it became
///     for (auto const& line : wanted::report<4, 16>.lines) ...                              // and why
///
/// * `Wishes`, in any order: `activation_limit<N>`, or `memory_limit<bytes>` with `rank_bytes<...>`; `costs<...>` of a
///   whole rank (F = I = W = 1 where nothing is said); `weight_copies<2>`. Schedules with several stages per rank take
///   their part of a rank's time and activations.
/// * Ranks and micro-batches must be numbers; where they come at run time, `make_program("auto", ...)` chooses by the
/// same
///   rules and longer searches, and `compare_schedules` explains.
/// * compiling: each candidate's table is made, proved and priced once per shape
///
/// Use it to begin with, and write down what it chose: another compiler must not make another choice (it does not:
/// times are compared with a tolerance of 1e-9).
template <class... Wishes>
struct automatic {
  static constexpr bool chooses_while_compiling = true;

  struct wish {
    static constexpr schedule_wish value = detail::wish_of_types<Wishes...>();
  };

 private:
  static constexpr double limit = wish::value.most_activations();
  using policies = detail::automatic_policies<limit >= 1e9   ? 0
                                              : limit >= 1.0 ? static_cast<int>(limit)
                                                             : 1,
                                              typename detail::costs_among<Wishes...>::type>;

  template <int Count>
  struct lines_of {
    automatic_line lines[Count] = {};
    int best = -1;  ///< index of the chosen one; -1: all are left out

    [[nodiscard]] constexpr automatic_line const* begin() const { return lines; }
    [[nodiscard]] constexpr automatic_line const* end() const { return lines + Count; }
  };

  template <int Ranks, int MicroBatches, class... Policies>
  static constexpr lines_of<sizeof...(Policies)> look_at(detail::policy_list<Policies...>) {
    lines_of<sizeof...(Policies)> result{
        {automatic_line{Policies::name, detail::candidate_of<Policies, Ranks, MicroBatches, wish>}...}};
    for (int index = 0; index < static_cast<int>(sizeof...(Policies)); ++index) {
      if (result.lines[index].figures.why != left_out::none) continue;
      if (result.best < 0 || result.lines[index].figures.is_better_than(result.lines[result.best].figures))
        result.best = index;
    }
    return result;
  }

 public:
  /// Everything that was looked at, with figures and reasons.
  template <int Ranks, int MicroBatches>
  static constexpr auto report = look_at<Ranks, MicroBatches>(policies{});

  /// The policy itself.
  template <int Ranks, int MicroBatches>
  using chosen = decltype(detail::pick<detail::best_or_first<automatic, Ranks, MicroBatches>()>(policies{}));
};

}  // namespace weft::inline v1::schedule
