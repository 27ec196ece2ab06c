// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/binomial_tree.hpp>
#include <weft/collective/recursive_halving.hpp>
#include <weft/collective/step_list.hpp>
#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>

namespace weft::inline v1::collective {

/// An all-reduce in two levels, for groups of any sizes and members: the vendor, the node, or the switch of each rank.
/// `group_of[r]`: rank r's group, by any numbers. Groups reduce to their leaders (their lowest ranks), leaders
/// all-reduce by recursive halving, and tell their groups; as many chunks as groups.
///
///     groups 0 0 1 0 1      3 -> 0, 4 -> 2; 1 -> 0     binomial trees, side by side
///                           0, 2 all-reduce            recursive halving
///                           0 -> 1, 2 -> 4; 0 -> 3     binomial trees
///
/// * 2 ceil(log2 g) rounds, g the largest group, and those of recursive_halving on so many ranks as there are groups
/// * association: the sums of the groups, each in the order of its ranks' tree, added up as recursive halving does it:
///   one for all ranks, whatever is where
///
/// The first level adds what lies near to each other, and the second one moves one buffer per group: between vendors,
/// where it is staged, that counts most.
[[nodiscard]] constexpr step_list all_reduce_by_groups(int const* group_of, int ranks) {
  detail::buffer<int> group(ranks);  // in the order of their first ranks
  detail::buffer<int> leader(ranks);
  int groups = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    int found = 0;
    while (found < groups && group_of[leader[found]] != group_of[rank]) ++found;
    if (found == groups) leader[groups++] = rank;
    group[rank] = found;
  }
  detail::buffer<int> begin(groups + 1);  // of a group, in `member`
  for (int rank = 0; rank < ranks; ++rank) ++begin[group[rank] + 1];
  int largest = 1;
  for (int each = 0; each < groups; ++each) {
    largest = begin[each + 1] > largest ? begin[each + 1] : largest;
    begin[each + 1] += begin[each];
  }
  detail::buffer<int> member(ranks);
  detail::buffer<int> filled(groups);
  for (int rank = 0; rank < ranks; ++rank) member[begin[group[rank]] + filled[group[rank]]++] = rank;

  step_list const leaders = recursive_halving::all_reduce(groups);
  int const inner = binomial_tree::reduce(largest).rounds;
  step_list list{ranks, groups, 2 * inner + leaders.rounds,
                 detail::buffer<step>(2 * (ranks - groups) * groups + leaders.size())};
  int position = 0;
  auto const tree_of = [](int members, bool is_reduce) {
    if (is_reduce) return binomial_tree::reduce(members);  // no ?: here: g++ 12 destroys one of the two twice
    return binomial_tree::broadcast(members);
  };
  auto const add_trees = [&](int first_round, bool is_reduce) {
    for (int round = 0; round < inner; ++round)
      for (int each = 0; each < groups; ++each) {
        step_list const tree = tree_of(begin[each + 1] - begin[each], is_reduce);
        for (int index = 0; index < tree.size(); ++index) {
          step const moved = tree.steps[index];
          if (moved.round != round) continue;
          for (int chunk = 0; chunk < groups; ++chunk)
            list.steps[position++] = step{first_round + round, member[begin[each] + moved.from],
                                          member[begin[each] + moved.to], chunk, moved.what};
        }
      }
  };
  add_trees(0, true);
  for (int index = 0; index < leaders.size(); ++index) {
    step moved = leaders.steps[index];
    moved.round += inner;
    moved.from = leader[moved.from];
    moved.to = leader[moved.to];
    list.steps[position++] = moved;
  }
  add_trees(inner + leaders.rounds, false);
  return list;
}

}  // namespace weft::inline v1::collective
