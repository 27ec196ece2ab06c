// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/by_groups.hpp>
#include <weft/collective/step_list.hpp>
#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>

namespace weft::inline v1::detail {

/// "hierarchical", or "hierarchical:4": groups of another size add in another order.
template <int GroupSize>
struct name_of_hierarchical {
  char text[24] = "hierarchical";

  constexpr name_of_hierarchical() {
    if (GroupSize == 0) return;
    int at = 12;
    text[at++] = ':';
    int divisor = 1;
    while (GroupSize / divisor >= 10) divisor *= 10;
    for (; divisor > 0; divisor /= 10) text[at++] = static_cast<char>('0' + GroupSize / divisor % 10);
  }
};
template <int GroupSize>
inline constexpr name_of_hierarchical<GroupSize> hierarchical_name{};

}  // namespace weft::inline v1::detail

namespace weft::inline v1::collective {

/// Consecutive ranks form groups; the first rank of each is its leader. Groups reduce to their leaders, leaders
/// all-reduce by recursive halving, and tell their groups. n ranks in G groups of g (the last one may be smaller), G
/// chunks. Groups of other members: collective/by_groups.hpp.
///
///     6 ranks, groups of 2      1 -> 0, 3 -> 2, 5 -> 4      binomial tree
///                               0, 2, 4 all-reduce          recursive halving
///                               0 -> 1, 2 -> 3, 4 -> 5      binomial tree
///
/// * 2 ceil(log2 g) rounds and those of recursive_halving on G ranks
/// * between groups: what recursive_halving sends on G ranks, about twice the buffer by each leader, whatever g;
/// inside:
///   the whole buffer, up to ceil(log2 g) times by the leader
/// * association: the sums of the groups, added up as recursive halving does it
///
/// Use it where ranks of a group are near to each other (one node) and groups are far apart: only leaders use the
/// network. Not inside one node, where it sends more than ring or recursive_halving.
/// `GroupSize`: ranks per node; 0 takes the integer square root of n, which balances both levels.
template <int GroupSize = 0>
struct hierarchical_of {
  static_assert(GroupSize >= 0,
                "weft::collective::hierarchical_of: a group has no rank; give its size, or 0 for sqrt(n)");

  static constexpr char const* name = detail::hierarchical_name<GroupSize>.text;

  /// Every rank ends with the sum of every chunk.
  [[nodiscard]] static constexpr step_list all_reduce(int ranks) { return all_reduce(ranks, GroupSize); }

  /// The same for a group size that comes at run time.
  [[nodiscard]] static constexpr step_list all_reduce(int ranks, int group_size) {
    int const size = group_size > 0 ? (group_size < ranks ? group_size : ranks) : default_group_size(ranks);
    weft::detail::buffer<int> group_of(ranks);
    for (int rank = 0; rank < ranks; ++rank) group_of[rank] = rank / size;
    return all_reduce_by_groups(group_of.data(), ranks);
  }

  [[nodiscard]] static constexpr int default_group_size(int ranks) {
    int root = 1;
    while ((root + 1) * (root + 1) <= ranks) ++root;
    return root;
  }
};

using hierarchical = hierarchical_of<>;

static_assert(hierarchical::name[12] == '\0' && hierarchical_of<16>::name[12] == ':' &&
              hierarchical_of<16>::name[14] == '6' && hierarchical_of<16>::name[15] == '\0');

}  // namespace weft::inline v1::collective
