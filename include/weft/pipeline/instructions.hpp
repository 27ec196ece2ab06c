// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/pipeline/boundary.hpp>
#include <weft/schedule/action_name.hpp>
#include <weft/schedule/detail/check_validation.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/tags.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace weft::inline v1 {

/// One end of a boundary as one action sees it.
struct port {
  int buffer = -1;  ///< index into `instruction_list::buffers`
  int peer = -1;    ///< the rank at the other end
  int tag = 0;
  int stage = 0;            ///< the stage that the message enters, in its direction
  bool is_message = false;  ///< false: both ends are stages of this rank, and the buffer is handed over
};

/// A range of `instruction_list::ports`.
struct port_range {
  int first = 0;
  int last = 0;
};

/// One action with everything looked up, so that playing it looks up nothing.
struct instruction {
  schedule::op what = schedule::op::none;
  int stage = 0;
  int micro_batch = 0;
  int slot = 0;
  int weight_slot = 0;
  int group = 0;            ///< of a REDUCE_GRAD: a `schedule::reduction`
  int weights_age = 0;      ///< how many STEPs of the stage old the weights are that it reads
  port_range in;            ///< stage inputs; of a post, its one port
  port_range out;           ///< stage outputs
  port_range gradient_out;  ///< gradients of the outputs
  port_range gradient_in;   ///< gradients of the inputs; none for edges that a frozen stage sends
};

/// A buffer that the row needs: which edge's boundary it holds, and whether its gradients.
struct buffer_need {
  int edge = 0;
  bool is_gradient = false;
};

struct instruction_list {
  std::vector<instruction> instructions;
  std::vector<port> ports;
  std::vector<buffer_need> buffers;
  /// Where steps are validated afterwards: by channel, in their order, the receives behind VALIDATE of messages that
  /// are sent in front of the sender's (indices of `instructions`). A redo takes those in at VALIDATE.
  std::vector<std::vector<int>> sent_early;
};

namespace detail {

/// Turns one lowered row into instructions. Messages go to the slots that the program names; boundaries between two
/// stages of one rank share a pool that grows to what the row needs.
class row_compiler {
 public:
  row_compiler(schedule::program_view const& program, int rank, int known_as)
      : program_(program),
        rank_(rank),
        known_as_(known_as) {}

  instruction_list run() {
    require_few_edges();
    require_one_copy();
    schedule::row_view const row = program_.row(rank_);
    for (int position = 0; position < row.size; ++position) add(row, position);
    if (program_.work.post_validated) find_sent_early(row);
    return std::move(list_);
  }

 private:
  enum class pool { receive_forward, send_forward, receive_backward, send_backward, scratch };
  using boundary_key = std::tuple<int, bool, int, int>;  // edge, is gradient, micro-batch, copy

  [[nodiscard]] topology::edge const& edge(int index) const { return program_.graph.edges[index]; }

  [[nodiscard]] std::vector<int> edges_of(int stage, bool entering) const {
    std::vector<int> found;
    for (int index = 0; index < program_.graph.edge_count; ++index)
      if ((entering ? edge(index).destination : edge(index).source) == stage) found.push_back(index);
    return found;
  }

  [[nodiscard]] int other_end(int index, int stage, int copy) const {
    topology::edge const& each = edge(index);
    return program_.graph.rank_of(each.source == stage ? each.destination : each.source, copy);
  }

  [[nodiscard]] int tag_of(int index, bool is_gradient, int copy) const {
    return schedule::message_tag(index, !is_gradient, copy, program_.graph.edge_count);
  }

  /// Stages below the frozen prefix run F alone, and nobody sends them gradients.
  [[nodiscard]] bool has_backward(int stage) const {
    return program_.work.backward && stage >= program_.work.frozen_prefix_stages;
  }

  /// Of every stage, not of this rank's alone, so that all ranks refuse a graph in the same words.
  void require_few_edges() const {
    std::vector<int> enter(static_cast<std::size_t>(program_.stages()));
    std::vector<int> leave(enter);
    for (int index = 0; index < program_.graph.edge_count; ++index) {
      require_room(++enter[static_cast<std::size_t>(edge(index).destination)], edge(index).destination, "enter");
      require_room(++leave[static_cast<std::size_t>(edge(index).source)], edge(index).source, "leave");
    }
  }

  /// A stage is known by its number alone to whoever runs it.
  void require_one_copy() const {
    for (int stage = 0; stage < program_.stages(); ++stage)
      for (int copy = 1; copy < program_.graph.copies; ++copy)
        for (int other = 0; other < copy; ++other)
          if (int const rank = program_.graph.rank_of(stage, copy); rank == program_.graph.rank_of(stage, other))
            throw agreed_error("weft::pipeline: rank " + std::to_string(rank) + " holds copies " +
                                   std::to_string(other) + " and " + std::to_string(copy) + " of stage " +
                                   std::to_string(stage) +
                                   ", which it could not tell apart; place them on two ranks (an even number of ranks "
                                   "where copies run opposite ways)",
                               {.rank = rank, .stage = stage});
  }

  static void require_room(int count, int stage, char const* way) {
    if (count > max_edges_per_side)
      throw agreed_error("weft::pipeline: " + std::to_string(count) + " edges or more " + way + " stage " +
                             std::to_string(stage) + ", and a stage has room for " +
                             std::to_string(max_edges_per_side) + "; send several tensors over one edge",
                         {.stage = stage});
  }

  [[nodiscard]] int entered(int index, bool is_gradient) const {
    return is_gradient ? edge(index).source : edge(index).destination;
  }

  int new_buffer(int index, bool is_gradient) {
    list_.buffers.push_back({index, is_gradient});
    return static_cast<int>(list_.buffers.size()) - 1;
  }

  int slot_buffer(pool which, int index, bool is_gradient, int copy, int slot) {
    auto const [found, is_new] = slots_.try_emplace({which, index, copy, slot}, 0);
    if (is_new) found->second = new_buffer(index, is_gradient);
    return found->second;
  }

  [[noreturn]] void refuse(schedule::action const& each, std::string const& what) const {
    throw error("weft::pipeline: rank " + std::to_string(known_as_) + ", " +
                    schedule::describe_action(each.what, each.stage, static_cast<int>(each.micro_batch)) + ": " + what +
                    "; play the program before running it",
                {.rank = known_as_, .stage = each.stage, .micro_batch = static_cast<int>(each.micro_batch)});
  }

  /// The buffer that an earlier action filled, or is about to.
  [[nodiscard]] port find(schedule::action const& each, int index, bool is_gradient) const {
    auto const found = boundaries_.find(key(each, index, is_gradient));
    if (found == boundaries_.end())
      refuse(each, std::string("its ") + (is_gradient ? "output gradient" : "input") + " was never received");
    return found->second;
  }

  [[nodiscard]] static boundary_key key(schedule::action const& each, int index, bool is_gradient) {
    return {index, is_gradient, static_cast<int>(each.micro_batch), each.copy};
  }

  /// Where an action writes what leaves the stage: the slot of the send that follows, or a hand-over buffer.
  port target(schedule::row_view row, int position, int index, bool is_gradient) {
    schedule::action const& each = row[position];
    int const peer = other_end(index, each.stage, each.copy);
    if (peer == rank_) {
      auto& free = free_[{index, is_gradient}];
      int buffer = -1;
      if (free.empty()) {
        buffer = new_buffer(index, is_gradient);
      } else {
        buffer = free.back();
        free.pop_back();
      }
      port const result{buffer, rank_, 0, entered(index, is_gradient), false};
      boundaries_[key(each, index, is_gradient)] = result;
      return result;
    }
    auto const send = is_gradient ? schedule::op::send_backward : schedule::op::send_forward;
    int const ordinal = ordinal_of(each.stage, index, is_gradient);
    for (int later = position + 1; later < row.size; ++later)
      if (row[later].what == send && row[later].stage == each.stage && row[later].micro_batch == each.micro_batch &&
          row[later].copy == each.copy && row[later].group == ordinal)
        return {slot_buffer(is_gradient ? pool::send_backward : pool::send_forward, index, is_gradient, each.copy,
                            row[later].slot),
                peer, tag_of(index, is_gradient, each.copy), entered(index, is_gradient), true};
    refuse(each, "no send follows it");
  }

  /// Forward sends and backward receives count a stage's out-edges, the other two its in-edges.
  [[nodiscard]] int ordinal_of(int stage, int index, bool entering) const {
    auto const edges = edges_of(stage, entering);
    auto const found = std::find(edges.begin(), edges.end(), index);
    return found == edges.end() ? -1 : static_cast<int>(found - edges.begin());
  }

  void release(schedule::action const& each, int index, bool is_gradient) {
    auto const found = boundaries_.find(key(each, index, is_gradient));
    if (found == boundaries_.end()) return;
    if (!found->second.is_message) free_[{index, is_gradient}].push_back(found->second.buffer);
    boundaries_.erase(found);
  }

  template <class MakePort>
  port_range range(std::vector<int> const& edges, MakePort&& make) {
    port_range result;
    std::vector<port> made;  // `make` may add buffers, never ports
    for (int const index : edges) made.push_back(make(index));
    result.first = static_cast<int>(list_.ports.size());
    list_.ports.insert(list_.ports.end(), made.begin(), made.end());
    result.last = static_cast<int>(list_.ports.size());
    return result;
  }

  void add_post(schedule::action const& each, instruction& made) {
    auto const& facts = schedule::traits_of(each.what);
    bool const is_gradient = !facts.is_forward_direction;
    bool const entering = facts.is_send == is_gradient;  // RECV_F and SEND_B are about the edges that enter
    auto const edges = edges_of(each.stage, entering);
    if (each.group >= edges.size()) refuse(each, "the stage has no such edge");
    int const index = edges[each.group];
    int const peer = other_end(index, each.stage, each.copy);
    if (peer == rank_) refuse(each, "both ends of the edge are on this rank");
    pool const which = facts.is_send ? (is_gradient ? pool::send_backward : pool::send_forward)
                                     : (is_gradient ? pool::receive_backward : pool::receive_forward);
    port const end{slot_buffer(which, index, is_gradient, each.copy, each.slot), peer,
                   tag_of(index, is_gradient, each.copy), entered(index, is_gradient), true};
    if (!facts.is_send) boundaries_[key(each, index, is_gradient)] = end;
    made.in = range({index}, [&](int) { return end; });
  }

  void add_compute(schedule::row_view row, int position, instruction& made) {
    schedule::action const& each = row[position];
    auto const& facts = schedule::traits_of(each.what);
    auto const entering = edges_of(each.stage, true);
    auto const leaving = edges_of(each.stage, false);
    std::tuple const work{static_cast<int>(each.stage), static_cast<int>(each.micro_batch),
                          static_cast<int>(each.copy)};
    made.in = range(entering, [&](int index) { return find(each, index, false); });
    if (each.what == schedule::op::forward) {
      made.out = range(leaving, [&](int index) { return target(row, position, index, false); });
      activation_slot_[work] = each.slot;
      if (!has_backward(each.stage))
        for (int const index : entering) release(each, index, false);
      return;
    }
    if (each.what == schedule::op::recompute) {
      made.out = range(leaving, [&](int index) {
        return port{slot_buffer(pool::scratch, index, false, 0, 0), rank_, 0, entered(index, false), false};
      });
      activation_slot_[work] = each.slot;
      return;
    }
    bool const is_split = each.what != schedule::op::backward;
    made.slot = activation_slot_.at(work);
    made.weight_slot = is_split ? each.slot : 0;
    made.gradient_out = range(leaving, [&](int index) { return find(each, index, true); });
    if (facts.makes_input_gradient) {
      std::vector<int> wanted;
      for (int const index : entering)
        if (has_backward(edge(index).source)) wanted.push_back(index);
      made.gradient_in = range(wanted, [&](int index) { return target(row, position, index, true); });
    }
    if (facts.frees_activation) {
      for (int const index : entering) release(each, index, false);
      for (int const index : leaving) release(each, index, true);
    }
  }

  void find_sent_early(schedule::row_view row) {
    schedule::detail::early_posts const early(program_);
    std::map<int, int> received;                 // by channel
    std::map<int, std::vector<int>> by_channel;  // instructions
    bool is_validated = false;
    int instruction = 0;
    for (schedule::action const& each : row) {
      if (each.what == schedule::op::none) continue;
      int const index = instruction++;
      auto const& facts = schedule::traits_of(each.what);
      is_validated = is_validated || each.what == schedule::op::validate;
      if (!facts.is_post || facts.is_send) continue;
      int const channel = early.lines.channel_of(each);
      if (++received[channel] <= early.sent[channel] && is_validated) by_channel[channel].push_back(index);
    }
    for (auto& [channel, posts] : by_channel) list_.sent_early.push_back(std::move(posts));
  }

  void add(schedule::row_view row, int position) {
    schedule::action const& each = row[position];
    auto const& facts = schedule::traits_of(each.what);
    if (each.what == schedule::op::none) return;
    instruction made;
    made.what = each.what;
    made.stage = each.stage;
    made.micro_batch = static_cast<int>(each.micro_batch);
    made.slot = each.slot;
    made.group = each.group;
    if (program_.work.asynchronous) made.weights_age = weights_age(each);
    if (facts.is_post)
      add_post(each, made);
    else if (facts.is_compute)
      add_compute(row, position, made);
    list_.instructions.push_back(made);
  }

  /// Versions come modulo 256. Counts STEPs as the row is read.
  int weights_age(schedule::action const& each) {
    int& steps = steps_.try_emplace({each.copy, each.stage}, program_.work.steps_before).first->second;
    if (each.what == schedule::op::step) ++steps;
    return schedule::traits_of(each.what).is_compute ? (steps - each.version) & 255 : 0;
  }

  schedule::program_view program_;
  int rank_;
  int known_as_;
  instruction_list list_;
  std::map<std::tuple<pool, int, int, int>, int> slots_;
  std::map<boundary_key, port> boundaries_;
  std::map<std::tuple<int, bool>, std::vector<int>> free_;
  std::map<std::tuple<int, int, int>, int> activation_slot_;
  std::map<std::tuple<int, int>, int> steps_;  // of asynchronous programs, per (copy, stage)
};

}  // namespace detail

/// Looks up, once, every buffer, peer and tag of a rank's row. `known_as`: what messages call the rank, where that is
/// not its number in the program. Does not communicate.
inline instruction_list compile_row(schedule::program_view const& program, int rank, int known_as = -1) {
  return detail::row_compiler(program, rank, known_as < 0 ? rank : known_as).run();
}

}  // namespace weft::inline v1
