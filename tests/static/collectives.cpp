// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every collective policy, proved while compiling on 1 to 17 ranks: each contribution arrives exactly once, all ranks
// end with the same nesting of additions, and rounds and bytes are what the header's comment says.

#include <weft/collective/all.hpp>
#include <weft/concepts/all.hpp>

namespace {

using namespace weft;
using namespace weft::collective;

static_assert(scattering_collective_policy<ring> && scattering_collective_policy<recursive_halving>);
static_assert(collective_policy<recursive_doubling> && collective_policy<binomial_tree>);
static_assert(collective_policy<hierarchical> && collective_policy<hierarchical_of<4>>);
static_assert(!scattering_collective_policy<recursive_doubling> && !collective_policy<int>);

template <class Policy, int Ranks>
constexpr bool sums_right() {
  step_list const list = Policy::all_reduce(Ranks);
  return list.ranks == Ranks && check(list, goal::all_reduce).correct() && has_one_association(list);
}

template <class Policy, int Ranks>
constexpr bool halves_right() {
  return check(Policy::reduce_scatter(Ranks), goal::reduce_scatter).correct() &&
         check(Policy::all_gather(Ranks), goal::all_gather).correct();
}

/// The all-reduce of a scattering policy is its reduce-scatter and then its all-gather, so that a sharded optimizer,
/// which stops in between, gets the same bits.
template <class Policy, int Ranks>
constexpr bool is_both_halves() {
  step_list const whole = Policy::all_reduce(Ranks);
  step_list const scatter = Policy::reduce_scatter(Ranks);
  step_list const gather = Policy::all_gather(Ranks);
  if (whole.size() != scatter.size() + gather.size() || whole.rounds != scatter.rounds + gather.rounds) return false;
  if (whole.chunks != Ranks || scatter.chunks != Ranks || gather.chunks != Ranks) return false;
  for (int index = 0; index < scatter.size(); ++index)
    if (!(whole.steps[index] == scatter.steps[index])) return false;
  for (int index = 0; index < gather.size(); ++index) {
    step later = gather.steps[index];
    later.round += scatter.rounds;
    if (!(whole.steps[scatter.size() + index] == later)) return false;
  }
  return true;
}

constexpr int ceil_log2(int number) {
  int result = 0;
  while (1 << result < number) ++result;
  return result;
}

/// The most steps (of one chunk each) that one rank sends, or receives.
constexpr int busiest(step_list const& list, bool sends) {
  int most = 0;
  for (int rank = 0; rank < list.ranks; ++rank) {
    int count = 0;
    for (step const& each : list.steps) count += (sends ? each.from : each.to) == rank ? 1 : 0;
    most = count > most ? count : most;
  }
  return most;
}

template <int Ranks>
constexpr bool costs_what_it_says() {
  int const log = ceil_log2(Ranks);
  bool const is_power = 1 << log == Ranks;

  step_list const around = ring::all_reduce(Ranks);  // (n - 1)/n of the buffer, twice
  if (around.rounds != 2 * (Ranks - 1) || busiest(around, true) != 2 * (Ranks - 1)) return false;

  step_list const scatter = recursive_halving::reduce_scatter(Ranks);
  step_list const gather = recursive_halving::all_gather(Ranks);
  if (is_power ? scatter.rounds != log : scatter.rounds <= log || scatter.rounds > 2 * log) return false;
  if (gather.rounds != log) return false;
  if (busiest(scatter, true) != Ranks - 1 || busiest(gather, false) != Ranks - 1) return false;
  int const most = is_power ? Ranks - 1 : (Ranks - 1) * 3 / 2;
  if (busiest(scatter, false) > most || busiest(gather, true) > most) return false;

  step_list const doubling = recursive_doubling::all_reduce(Ranks);
  if (doubling.rounds != (is_power ? log : log - 1 + 2)) return false;
  if (busiest(doubling, true) != (is_power ? log : log - 1 + 1)) return false;

  step_list const tree = binomial_tree::all_reduce(Ranks);
  if (tree.rounds != 2 * log || tree.size() != 2 * (Ranks - 1)) return false;

  int const group = hierarchical::default_group_size(Ranks);
  if (group * group > Ranks || (group + 1) * (group + 1) <= Ranks) return false;
  int const groups = (Ranks + group - 1) / group;
  step_list const levels = hierarchical::all_reduce(Ranks);
  if (levels.chunks != groups) return false;
  if (levels.rounds != 2 * ceil_log2(group) + recursive_halving::all_reduce(groups).rounds) return false;
  int between = 0;  // steps of a G-th of the buffer each
  for (step const& each : levels.steps) {
    if (each.from / group == each.to / group) continue;
    ++between;
    if (each.from % group != 0 || each.to % group != 0) return false;  // leaders alone
  }
  if (between != 2 * groups * (groups - 1)) return false;
  return true;
}

template <int Ranks>
constexpr bool all_of_it() {
  static_assert(sums_right<ring, Ranks>() && halves_right<ring, Ranks>() && is_both_halves<ring, Ranks>());
  static_assert(sums_right<recursive_halving, Ranks>() && halves_right<recursive_halving, Ranks>());
  static_assert(is_both_halves<recursive_halving, Ranks>());
  static_assert(sums_right<recursive_doubling, Ranks>());
  static_assert(sums_right<binomial_tree, Ranks>());
  static_assert(sums_right<hierarchical, Ranks>());
  static_assert(costs_what_it_says<Ranks>());
  return true;
}

template <int... Index>
struct numbers {
  static_assert((all_of_it<Index + 1>() && ...));
};
template struct numbers<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16>;
static_assert(sums_right<hierarchical_of<2>, 9>() && sums_right<hierarchical_of<8>, 12>());
static_assert(sums_right<hierarchical_of<8>, 3>() && sums_right<hierarchical_of<1>, 6>());

// The checker of associations sees a nesting that differs, and takes the two sides of a sum for equal.
constexpr bool sees_a_different_nesting() {
  step_list list{3, 1, 2, weft::detail::buffer<step>(6)};
  list.steps[0] = step{0, 0, 1, 0, arrival::add};  // 1 has 0 + 1
  list.steps[1] = step{0, 1, 2, 0, arrival::add};  // 2 has 1 + 2
  list.steps[2] = step{0, 2, 0, 0, arrival::add};  // 0 has 2 + 0
  list.steps[3] = step{1, 0, 1, 0, arrival::copy};
  list.steps[4] = step{1, 0, 2, 0, arrival::copy};
  bool const copied = has_one_association(list);  // all have 2 + 0: one association, though not an all-reduce
  list.steps[3] = list.steps[4] = step{1, 1, 2, 0, arrival::copy};
  return copied && !has_one_association(list) && !check(list, goal::all_reduce).correct();
}
static_assert(sees_a_different_nesting());
static_assert(association(recursive_doubling::all_reduce(2), 0)[0] ==
              association(recursive_doubling::all_reduce(2), 0)[1]);

}  // namespace
