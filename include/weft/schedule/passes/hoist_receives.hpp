// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/passes/rewrite.hpp>

namespace weft::inline v1::schedule {

namespace detail {

/// Plays a program whose receives stand just before their use on one queue per rank, and finds which of them must be
/// posted earlier. Group g of a row is the posts in front of its g-th action that is no post.
class queue_order {
 public:
  constexpr queue_order(program_view const& view, int send_slots)
      : from(view),
        lines(view),
        ranks(view.ranks()),
        micro_batches(view.micro_batches),
        slots(send_slots),
        next(ranks),
        head(ranks),
        open(ranks),
        begin(ranks + 1),
        sender_group(lines.count() * micro_batches),
        receiver_group(lines.count() * micro_batches),
        blocker(lines.count() * micro_batches),
        active(lines.count() * micro_batches),
        ended(lines.count() * micro_batches) {
    int total = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      begin[rank] = total;
      total += from.row(rank).size + 1;
    }
    begin[ranks] = total;
    computes = buffer<action const*>(total);
    owner = buffer<int>(total);
    for (int rank = 0; rank < ranks; ++rank)
      for (int group = begin[rank]; group < begin[rank + 1]; ++group) owner[group] = rank;
    for (int& group : sender_group) group = -1;
    for (int& group : receiver_group) group = -1;
    first = buffer<int>(total + 1);
    posts = buffer<int>(total);
    next_in_group = buffer<int>(lines.count() * micro_batches * 2);
    for (int& link : first) link = -1;
    for (int& link : next_in_group) link = -1;
    for (int rank = 0; rank < ranks; ++rank) read(rank);
  }

  /// Until every row has ended, or nothing that a receive could do helps (then the table itself is stuck).
  constexpr void run() {
    for (;;) {
      bool moved = false;
      for (int rank = 0; rank < ranks; ++rank)
        while (step(rank)) moved = true;
      if (!moved && !hoist()) return;
    }
  }

  /// The row of `rank`, each group in the order in which its messages ended.
  constexpr void write(int rank, program& into) const {
    for (int group = begin[rank]; group < begin[rank + 1]; ++group) {
      for (int last = -1;;) {
        int best = -1;
        for (int post = first[group]; post >= 0; post = next_in_group[post])
          if (rank_in(post) > last && (best < 0 || rank_in(post) < rank_in(best))) best = post;
        if (best < 0) break;
        into.append(post_of(best));
        last = rank_in(best);
      }
      if (computes[group] != nullptr) into.append(*computes[group]);
    }
    into.end_row();
  }

 private:
  // A post is 2 * message for its send and 2 * message + 1 for its receive.

  constexpr void read(int rank) {
    buffer<int> sent(lines.count());
    buffer<int> last(lines.count() * slots);
    int group = begin[rank];
    for (action const& cell : from.row(rank)) {
      if (!is_post(cell)) {
        computes[group++] = &cell;
        continue;
      }
      int const channel = lines.channel_of(cell);
      int const message = channel * micro_batches + static_cast<int>(cell.micro_batch);
      bool const outgoing = is_send(cell);
      int& place = (outgoing ? sender_group : receiver_group)[message];
      if (place >= 0) continue;  // posted twice: a broken table, of which `play` has more to say
      place = group;
      if (outgoing) {
        int const slot = channel * slots + sent[channel]++ % slots;
        blocker[message] = last[slot];
        last[slot] = message + 1;
      }
      join(outgoing ? 2 * message : 2 * message + 1, group);
    }
    for (int rest = group; rest < begin[rank + 1]; ++rest) computes[rest] = nullptr;
    next[rank] = begin[rank];
    head[rank] = begin[rank];
    activate(rank);
  }

  constexpr void join(int post, int group) {
    next_in_group[post] = first[group];
    first[group] = post;
    ++posts[group];
  }

  constexpr void leave(int post, int group) {
    int* link = &first[group];
    while (*link != post) link = &next_in_group[*link];
    *link = next_in_group[post];
    --posts[group];
  }

  /// The group at the head of a rank's queue has been issued: its messages move where the other side is active too.
  constexpr void activate(int rank) {
    open[rank] = posts[head[rank]];
    for (int post = first[head[rank]]; post >= 0; post = next_in_group[post]) touch(post);
  }

  constexpr void touch(int post) {
    int const message = post / 2;
    active[message] = static_cast<unsigned char>(active[message] | (post % 2 == 0 ? 1 : 2));
    if (active[message] != 3) return;
    ended[message] = ++clock;
    --open[owner[sender_group[message]]];
    --open[owner[receiver_group[message]]];
  }

  /// Ends a group, or runs an action, of one rank; false where it can do neither.
  constexpr bool step(int rank) {
    if (head[rank] <= next[rank] && open[rank] == 0 && head[rank] + 1 < begin[rank + 1]) {
      ++head[rank];
      if (head[rank] <= next[rank]) activate(rank);
      return true;
    }
    if (computes[next[rank]] == nullptr || waits(*computes[next[rank]], rank)) return false;
    ++next[rank];
    if (head[rank] == next[rank]) activate(rank);
    return true;
  }

  /// Whether the messages that an action reads have not arrived, or its output slot is still being sent.
  [[nodiscard]] constexpr bool waits(action const& cell, int rank) const {
    if (cell.what != op::forward && cell.what != op::backward && cell.what != op::backward_input) return false;
    int const which = cell.copy * from.stages() + cell.stage;
    bool const forward = cell.what == op::forward;
    for (int edge = 0; edge < lines.degree; ++edge) {
      int const in = lines.posts(which, forward ? 1 : 3)[edge] - 1;
      int const out = lines.posts(which, forward ? 0 : 2)[edge] - 1;
      int const micro_batch = static_cast<int>(cell.micro_batch);
      if (in >= 0 && receiver_group[in * micro_batches + micro_batch] >= head[rank]) return true;
      if (out < 0) continue;
      int const before = blocker[out * micro_batches + micro_batch];
      if (before != 0 && sender_group[before - 1] >= head[rank]) return true;
    }
    return false;
  }

  /// Of the sends that wait at the head of a queue, takes the one whose receive is needed soonest, and puts that
  /// receive into the group at the head of its rank's queue.
  constexpr bool hoist() {
    int best = -1;
    int distance = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      if (open[rank] <= 0 || head[rank] > next[rank]) continue;
      for (int post = first[head[rank]]; post >= 0; post = next_in_group[post]) {
        if (post % 2 != 0 || active[post / 2] != 1) continue;
        int const group = receiver_group[post / 2];
        if (group < 0) continue;
        int const away = group - next[owner[group]];
        if (best >= 0 && away >= distance) continue;
        best = post + 1;
        distance = away;
      }
    }
    if (best < 0) return false;
    int const group = receiver_group[best / 2];
    int const rank = owner[group];
    if (head[rank] > next[rank] || open[rank] == 0) return false;
    leave(best, group);
    receiver_group[best / 2] = head[rank];
    join(best, head[rank]);
    ++open[rank];
    touch(best);
    return true;
  }

  /// Unique among the posts of one rank; what has not ended stands last.
  [[nodiscard]] constexpr int rank_in(int post) const {
    return ended[post / 2] > 0 ? ended[post / 2] : clock + 1 + post;
  }

  [[nodiscard]] constexpr action post_of(int post) const {
    int const message = post / 2;
    int const channel = message / micro_batches;
    topology::stage_graph_view const& graph = from.graph;
    int const copy = channel / 2 / graph.edge_count;
    int const edge = channel / 2 % graph.edge_count;
    bool const forward = channel % 2 == 0;
    bool const at_source = (post % 2 == 0) == forward;
    int const stage = at_source ? graph.edges[edge].source : graph.edges[edge].destination;
    op const what = post % 2 == 0 ? (forward ? op::send_forward : op::send_backward)
                                  : (forward ? op::receive_forward : op::receive_backward);
    action cell = make_action(what, stage, message % micro_batches);
    cell.copy = static_cast<std::uint8_t>(copy);
    int group = 0;
    if (at_source)
      group = edge - lines.out_begin[stage];
    else
      while (lines.in_edges[lines.in_begin[stage] + group] != edge) ++group;
    cell.group = static_cast<std::uint8_t>(group);
    return cell;
  }

  program_view from;
  channels<> lines;
  int ranks;
  int micro_batches;
  int slots;
  int clock = 0;
  buffer<int> next;                ///< [rank]: the action to run next, as a group's number
  buffer<int> head;                ///< [rank]: the group at the head of its queue
  buffer<int> open;                ///< [rank]: posts of that group whose message has not ended
  buffer<int> begin;               ///< [rank]: its first group
  buffer<int> owner;               ///< [group]: its rank
  buffer<action const*> computes;  ///< [group]: the action behind it, or null behind the last
  buffer<int> first;               ///< [group]: its first post, or -1
  buffer<int> posts;               ///< [group]
  buffer<int> next_in_group;       ///< [post]
  buffer<int> sender_group;        ///< [message]
  buffer<int> receiver_group;
  buffer<int> blocker;  ///< [message]: 1 + the message that used its send slot before, or 0
  buffer<unsigned char> active;
  buffer<int> ended;  ///< [message]: when, from 1; 0 before
};

}  // namespace detail

namespace passes {

/// Makes receives that stand just before their use fit for queues that run in the order of issue (NCCL), and for posts
/// that block.
///
/// Where a rank's queue would stand still behind a send whose receive comes later (two ranks that both send first), the
/// receive moves up into the group of posts that stands at the head of the receiver's queue. It is the only thing that
/// can be missing: rows follow the table, so that a rank which waits for a receive waits for work that comes earlier in
/// the table's order. Then each group is put in the order in which its messages end. That order is one for all ranks,
/// so
///
/// * every pair of ranks agrees on the order of its messages, over all edges between them, and
/// * the program plays even where each post blocks its row.
///
/// A group is a run of neighbouring posts: what a transport with explicit groups starts together. Messages of different
/// peers share groups, so that none of them holds up another. `send_slots` is the number that `assign_slots` will be
/// given. Slots are void afterwards. A table that deadlocks by itself comes back so.
///
/// Reported without it: pytorch#172668 (both ranks send first), pytorch PR#127332 (sends that cross), PiPPy#969
/// (batches of several peers in different orders).
constexpr program hoist_receives(program_view const& from, int send_slots = 2) {
  detail::queue_order order(from, send_slots > 0 ? send_slots : 1);
  order.run();
  program result = like(from, action_count(from));
  for (int rank = 0; rank < from.ranks(); ++rank) order.write(rank, result);
  return result;
}

}  // namespace passes

}  // namespace weft::inline v1::schedule
