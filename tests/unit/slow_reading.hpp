// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/schedule/program_view.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

/// A second reading of the rules that `play` checks, for tests: written from their definitions, with lists and maps and
/// no thought of speed, and sharing no code with it. Rendezvous alone.
namespace slow_reading {

namespace ws = weft::schedule;
using ws::op;

/// One action and where it stands.
struct placed {
  ws::action cell;
  int rank;
  int position;
};

/// (direction, edge, copy, micro-batch); direction 0 is forward.
using message = std::tuple<int, int, int, int>;

class reader {
 public:
  explicit reader(ws::program_view const& program) : p(program) {
    for (int rank = 0; rank < p.ranks(); ++rank)
      for (int position = 0; position < p.row(rank).size; ++position)
        if (p.row(rank)[position].what != op::none) all.push_back({p.row(rank)[position], rank, position});
    for (placed const& each : all) {
      has_posts = has_posts || is_post(each.cell.what);
      some_optimizer = some_optimizer || each.cell.what == op::norm || each.cell.what == op::step;
    }
    if (p.is_lowered)
      for (int copy = 0; copy < p.graph.copies; ++copy)
        for (int edge = 0; edge < p.graph.edge_count; ++edge) has_posts = has_posts || crosses(edge, copy);
  }

  /// The empty string, or what is wrong.
  std::string run() {
    for (std::string (reader::*rule)() :
         {&reader::places, &reader::work, &reader::copies, &reader::order_in_rows, &reader::pairs, &reader::versions,
          &reader::ends, &reader::messages, &reader::slots, &reader::progress}) {
      std::string const wrong = (this->*rule)();
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  static bool is_post(op what) {
    return what == op::send_forward || what == op::receive_forward || what == op::send_backward ||
           what == op::receive_backward;
  }
  static bool is_pass(op what) {
    return what == op::forward || what == op::backward || what == op::backward_input || what == op::backward_weight ||
           what == op::recompute;
  }
  [[nodiscard]] bool trained(int stage) const { return p.work.backward && stage >= p.work.frozen_prefix_stages; }
  [[nodiscard]] bool crosses(int edge, int copy) const {
    return p.graph.rank_of(p.graph.edges[edge].source, copy) != p.graph.rank_of(p.graph.edges[edge].destination, copy);
  }

  /// The edge that a post speaks of, or -1.
  [[nodiscard]] int edge_of(ws::action const& cell) const {
    bool const leaves = cell.what == op::send_forward || cell.what == op::receive_backward;
    int seen = 0;
    for (int edge = 0; edge < p.graph.edge_count; ++edge)
      if ((leaves ? p.graph.edges[edge].source : p.graph.edges[edge].destination) == cell.stage && seen++ == cell.group)
        return edge;
    return -1;
  }

  /// All passes of one kind over one item.
  [[nodiscard]] std::vector<placed> passes(op what, int stage, int micro_batch, int copy) const {
    std::vector<placed> found;
    for (placed const& each : all)
      if (each.cell.what == what && each.cell.stage == stage &&
          static_cast<int>(each.cell.micro_batch) == micro_batch && each.cell.copy == copy)
        found.push_back(each);
    return found;
  }

  /// Where F, the action that makes the input gradient, the one that makes the weight gradient, and R stand; -1:
  /// nowhere.
  struct item {
    int forward = -1, input = -1, weight = -1, again = -1;
  };
  [[nodiscard]] item find(int stage, int micro_batch, int copy) const {
    item found;
    auto const at = [&](op what) {
      auto const list = passes(what, stage, micro_batch, copy);
      return list.empty() ? -1 : list.front().position;
    };
    found.forward = at(op::forward);
    found.input = std::max(at(op::backward), at(op::backward_input));
    found.weight = std::max(at(op::backward), at(op::backward_weight));
    found.again = at(op::recompute);
    return found;
  }

  template <class Body>
  std::string for_items(Body&& body) const {
    for (int copy = 0; copy < p.graph.copies; ++copy)
      for (int stage = 0; stage < p.stages(); ++stage)
        for (int micro_batch = 0; micro_batch < p.micro_batches; ++micro_batch) {
          std::string const wrong = body(stage, micro_batch, copy);
          if (!wrong.empty()) return wrong;
        }
    return "";
  }

  // --- the rules
  // ------------------------------------------------------------------------------------------------------

  std::string places() {
    for (placed const& each : all) {
      if (each.cell.what == op::norm) continue;
      if (each.cell.what == op::partial_norm || each.cell.what == op::validate) return "of another kind of program";
      if (each.cell.stage >= p.stages() || each.cell.copy >= p.graph.copies ||
          each.cell.micro_batch >= static_cast<unsigned>(p.micro_batches))
        return "outside";
      if (p.graph.rank_of(each.cell.stage, each.cell.copy) != each.rank) return "wrong rank";
      if (each.cell.what == op::forward_backward) return "no such pass";
      if (is_pass(each.cell.what) && each.cell.what != op::forward && !trained(each.cell.stage)) return "not trained";
    }
    return "";
  }

  std::string work() {
    return for_items([&](int stage, int micro_batch, int copy) -> std::string {
      auto const count = [&](op what) { return passes(what, stage, micro_batch, copy).size(); };
      if (count(op::forward) > 1 || count(op::recompute) > 1) return "twice";
      if (count(op::backward) + count(op::backward_input) > 1 || count(op::backward) + count(op::backward_weight) > 1)
        return "twice";
      return "";
    });
  }

  /// Every micro-batch is done whole, by one copy of the model.
  std::string copies() {
    for (int micro_batch = 0; micro_batch < p.micro_batches; ++micro_batch) {
      int whole = 0;
      for (int copy = 0; copy < p.graph.copies; ++copy) {
        int complete = 0;
        int begun = 0;
        for (int stage = 0; stage < p.stages(); ++stage) {
          item const found = find(stage, micro_batch, copy);
          complete += found.forward >= 0 && (!trained(stage) || (found.input >= 0 && found.weight >= 0));
          begun += found.forward >= 0 || found.input >= 0 || found.weight >= 0;
        }
        if (complete == p.stages())
          ++whole;
        else if (begun > 0)
          return "a part of a micro-batch";
      }
      if (whole != 1) return "a micro-batch is not done once";
    }
    return "";
  }

  std::string order_in_rows() {
    return for_items([&](int stage, int micro_batch, int copy) -> std::string {
      item const found = find(stage, micro_batch, copy);
      if (found.forward < 0 || !trained(stage)) return found.again >= 0 ? "R without need" : "";
      if (found.input < found.forward || found.weight < found.input) return "F, I, W out of order";
      if (p.recomputes && found.again < 0) return "a pass of a recomputing program without R";
      if (found.again >= 0 && (found.again < found.forward || found.again > found.input)) return "R out of place";
      // Stages on one rank hand over without messages.
      for (int edge = 0; edge < p.graph.edge_count; ++edge) {
        auto const line = p.graph.edges[edge];
        if (crosses(edge, copy)) continue;
        if (line.destination == stage && find(line.source, micro_batch, copy).forward > found.forward)
          return "F before its input";
        if (line.source == stage && find(line.destination, micro_batch, copy).input > found.input)
          return "I before its gradient";
      }
      return "";
    });
  }

  std::string pairs() {
    for (int rank = 0; rank < p.ranks(); ++rank) {
      std::vector<ws::action> row;
      for (placed const& each : all)
        if (each.rank == rank && is_pass(each.cell.what) && each.cell.what != op::recompute) row.push_back(each.cell);
      for (std::size_t at = 0; at < row.size(); ++at) {
        bool const first = row[at].part == ws::parts::fused_forward;
        bool const second = row[at].part == ws::parts::fused_backward;
        if (first &&
            (row[at].what != op::forward || at + 1 == row.size() || row[at + 1].part != ws::parts::fused_backward))
          return "half a pair";
        if (second && ((row[at].what != op::backward && row[at].what != op::backward_input) || at == 0 ||
                       row[at - 1].part != ws::parts::fused_forward))
          return "half a pair";
      }
    }
    return "";
  }

  std::string versions() {
    if (!p.work.asynchronous) {
      for (placed const& each : all)
        if (is_pass(each.cell.what) && each.cell.version != 0) return "a version where there is one";
      return "";
    }
    for (placed const& each : all) {
      if (!is_pass(each.cell.what)) continue;
      int steps = p.work.steps_before;  // of the stage, in front of this action
      for (placed const& other : all)
        steps += other.rank == each.rank && other.position < each.position && other.cell.what == op::step &&
                 other.cell.stage == each.cell.stage;  // of whichever copy: they are one on a rank
      int const version = each.cell.version;           // tests stay below 256 steps
      if (each.cell.what != op::forward) {
        auto const own = passes(op::forward, each.cell.stage, static_cast<int>(each.cell.micro_batch), each.cell.copy);
        if (p.work.stashes_weights ? version != own.front().cell.version : version != steps) return "another version";
        continue;
      }
      bool kept = version <= steps && (version > steps - p.work.versions || version < p.work.steps_before);
      for (placed const& other : all)  // or a micro-batch in flight keeps it
        if (other.cell.what == op::forward && other.rank == each.rank && other.position < each.position &&
            other.cell.stage == each.cell.stage && other.cell.version == version &&
            find(other.cell.stage, static_cast<int>(other.cell.micro_batch), other.cell.copy).weight > each.position)
          kept = kept || p.work.stashes_weights;
      if (!kept) return "weights that are gone";
    }
    return "";
  }

  std::string ends() {
    for (int rank = 0; rank < p.ranks(); ++rank) {
      int norms = 0, norm_at = -1, first_step = -1, last_gradient = -1;
      for (placed const& each : all) {
        if (each.rank != rank) continue;
        op const what = each.cell.what;
        if (what == op::norm) {
          ++norms;
          norm_at = each.position;
        }
        if (what == op::step && first_step < 0) first_step = each.position;
        if (what == op::reduce_gradient || (is_pass(what) && what != op::forward && what != op::recompute))
          last_gradient = each.position;
        if ((what == op::reduce_gradient || what == op::step) && !trained(each.cell.stage)) return "not trained";
      }
      if (norms > 0 && (!p.work.backward || p.work.asynchronous)) return "NORM without need";
      if (norms > 1) return "NORM twice";
      if (p.work.backward && !p.work.asynchronous && some_optimizer && norms == 0) return "NORM is missing";
      if (norms == 1 && (last_gradient > norm_at || (first_step >= 0 && first_step < norm_at))) return "NORM misplaced";
    }
    std::set<int> tied_counts;
    for (int rank = 0; rank < p.ranks(); ++rank) {
      int own = 0;
      for (placed const& each : all)
        own += each.rank == rank && each.cell.what == op::reduce_gradient &&
               each.cell.group == static_cast<int>(ws::reduction::tied);
      if (own > 0) tied_counts.insert(own);
    }
    if (tied_counts.size() > 1) return "tied parameters met unequally often";
    for (int copy = 0; copy < p.graph.copies; ++copy)
      for (int stage = 0; stage < p.stages(); ++stage) {
        std::string const wrong = end_of_stage(stage, copy);
        if (!wrong.empty()) return wrong;
      }
    return order_of_copies();
  }

  std::string end_of_stage(int stage, int copy) const {
    std::map<int, int> reductions;
    int steps = 0, last_backward = -1, first_end = -1, fresh = 0;
    for (placed const& each : all) {
      if (each.cell.stage != stage || each.cell.copy != copy) continue;
      op const what = each.cell.what;
      if (what == op::backward || what == op::backward_weight) {
        last_backward = each.position;
        ++fresh;
      }
      if (what == op::reduce_gradient) ++reductions[each.cell.group];
      if (what == op::step) {
        ++steps;
        if (p.work.asynchronous && fresh == 0) return "STEP of nothing";
        fresh = 0;
      }
      bool const ends = what == op::reduce_gradient || (what == op::step && !p.work.asynchronous);
      if (ends && first_end < 0) first_end = each.position;
    }
    if (first_end >= 0 && first_end < last_backward) return "ended before its last backward";
    for (auto const& [group, count] : reductions) {
      if (count > 1 || group > static_cast<int>(ws::reduction::copies)) return "reduced twice, or by what";
      if (group == static_cast<int>(ws::reduction::data) && !p.work.reduces_over_data) return "no data axis";
      if (group == static_cast<int>(ws::reduction::copies) && !p.work.reduces_over_copies) return "no copies";
    }
    if (!trained(stage)) return "";
    auto const lacks = [&](ws::reduction over) { return reductions.count(static_cast<int>(over)) == 0; };
    if (p.work.reduces_over_data && lacks(ws::reduction::data)) return "not reduced over data";
    if (p.work.reduces_over_copies && lacks(ws::reduction::copies)) return "not reduced over copies";
    if (p.work.reduces_ties && (stage == 0 || stage == p.stages() - 1) && lacks(ws::reduction::tied)) return "not tied";
    if (p.work.asynchronous) return fresh > 0 ? "a gradient without STEP" : "";
    if (steps > 1) return "STEP twice";
    return some_optimizer && steps == 0 ? "STEP is missing" : "";
  }

  std::string order_of_copies() const {
    for (int rank = 0; rank < p.ranks(); ++rank)
      for (int other = 0; other < p.ranks(); ++other) {
        auto const stages_of = [&](int whose, int with) {
          std::vector<int> order;
          for (placed const& each : all) {
            if (each.rank != whose || each.cell.what != op::reduce_gradient ||
                each.cell.group != static_cast<int>(ws::reduction::copies))
              continue;
            bool shared = false;
            for (int copy = 0; copy < p.graph.copies; ++copy)
              shared = shared || p.graph.rank_of(each.cell.stage, copy) == with;
            if (shared) order.push_back(each.cell.stage);
          }
          return order;
        };
        if (rank != other && stages_of(rank, other) != stages_of(other, rank)) return "copies reduced in two orders";
      }
    return "";
  }

  /// Which message a post is about; the second is false where there is none.
  std::pair<message, bool> about(placed const& each) const {
    int const edge = edge_of(each.cell);
    bool const forward = each.cell.what == op::send_forward || each.cell.what == op::receive_forward;
    if (edge < 0 || !crosses(edge, each.cell.copy)) return {{}, false};
    if (!forward && !trained(p.graph.edges[edge].source)) return {{}, false};
    return {{forward ? 0 : 1, edge, each.cell.copy, static_cast<int>(each.cell.micro_batch)}, true};
  }

  std::string messages() {
    std::map<message, std::vector<placed>> sends;
    std::map<message, std::vector<placed>> receives;
    for (placed const& each : all) {
      if (!is_post(each.cell.what)) continue;
      auto const [which, exists] = about(each);
      if (!exists) return "a post about nothing";
      bool const is_send = each.cell.what == op::send_forward || each.cell.what == op::send_backward;
      (is_send ? sends : receives)[which].push_back(each);
    }
    if (!has_posts) return "";
    for (int copy = 0; copy < p.graph.copies; ++copy)
      for (int edge = 0; edge < p.graph.edge_count; ++edge)
        for (int back = 0; back < 2; ++back) {
          auto const line = p.graph.edges[edge];
          if (!crosses(edge, copy) || (back == 1 && !trained(line.source))) continue;
          std::vector<std::pair<int, int>> out;  // position, micro-batch
          std::vector<std::pair<int, int>> in;
          for (int micro_batch = 0; micro_batch < p.micro_batches; ++micro_batch) {
            message const which{back, edge, copy, micro_batch};
            bool const due = find(line.source, micro_batch, copy).forward >= 0;
            std::size_t const wanted = due ? 1 : 0;
            if (sends[which].size() != wanted || receives[which].size() != wanted) return "not sent and received once";
            if (!due) continue;
            item const from = find(back == 0 ? line.source : line.destination, micro_batch, copy);
            item const to = find(back == 0 ? line.destination : line.source, micro_batch, copy);
            placed const& send = sends[which].front();
            placed const& receive = receives[which].front();
            if (send.position < (back == 0 ? from.forward : from.input)) return "sent before it is made";
            if (receive.position > (back == 0 ? to.forward : to.input)) return "received after it is read";
            out.emplace_back(send.position, micro_batch);
            in.emplace_back(receive.position, micro_batch);
            sent[which] = send;
            received[which] = receive;
          }
          std::sort(out.begin(), out.end());
          std::sort(in.begin(), in.end());
          for (std::size_t k = 0; k < out.size(); ++k)
            if (out[k].second != in[k].second) return "two orders";
        }
    return "";
  }

  // Slots: what two users of one slot may not have in common.
  struct use {
    int begin;
    int end;
  };

  std::string slots() {
    if (!p.is_lowered) return "";
    std::map<std::tuple<int, int, int, int, int>, std::vector<use>> uses;  // kind, stage or edge, direction, copy, slot
    std::string wrong = for_items([&](int stage, int micro_batch, int copy) -> std::string {
      item const found = find(stage, micro_batch, copy);
      if (found.forward < 0) return "";
      auto const& own = p.slots[copy * p.stages() + stage];
      int const rank = p.graph.rank_of(stage, copy);
      auto const slot_at = [&](int position) { return static_cast<int>(p.row(rank)[position].slot); };
      bool const keeps = trained(stage);
      if (slot_at(found.forward) >= own.activation) return "no such slot";
      bool const at_once = !keeps || found.again >= 0;
      uses[{0, stage, 0, copy, slot_at(found.forward)}].push_back(
          {found.forward, at_once ? found.forward : found.weight});
      if (found.again >= 0) {
        if (slot_at(found.again) >= own.activation) return "no such slot";
        uses[{0, stage, 0, copy, slot_at(found.again)}].push_back({found.again, found.weight});
      }
      if (keeps && found.input != found.weight) {
        if (slot_at(found.input) >= own.weight_context) return "no such slot";
        if (slot_at(found.input) != slot_at(found.weight)) return "W reads another slot";
        uses[{1, stage, 0, copy, slot_at(found.input)}].push_back({found.input, found.weight});
      }
      return "";
    });
    if (!wrong.empty()) return wrong;
    for (auto const& [which, receive] : received) {
      auto const [back, edge, copy, micro_batch] = which;
      int const stage = back == 0 ? p.graph.edges[edge].destination : p.graph.edges[edge].source;
      item const reader_of = find(stage, micro_batch, copy);
      auto const& own = p.slots[copy * p.stages() + stage];
      if (receive.cell.slot >= (back == 0 ? own.receive_forward : own.receive_backward)) return "no such slot";
      uses[{2, edge, back, copy, receive.cell.slot}].push_back(
          {receive.position, trained(stage) ? reader_of.weight : reader_of.forward});
    }
    for (auto const& [which, list] : uses)
      for (std::size_t a = 0; a < list.size(); ++a)
        for (std::size_t b = 0; b < list.size(); ++b)
          if (a != b && list[a].begin <= list[b].end && list[b].begin <= list[a].end)
            return "a slot used twice at once";
    for (auto const& [which, send] : sent) {
      auto const [back, edge, copy, micro_batch] = which;
      int const stage = back == 0 ? p.graph.edges[edge].source : p.graph.edges[edge].destination;
      auto const& own = p.slots[copy * p.stages() + stage];
      if (send.cell.slot >= (back == 0 ? own.send_forward : own.send_backward)) return "no such slot";
      // Filled only after the message that lay there before had been sent.
      placed const* before = before_in_slot(which);
      if (before != nullptr && made_at(which) < before->position) return "an output overwritten";
    }
    return "";
  }

  [[nodiscard]] int made_at(message const& which) const {
    auto const [back, edge, copy, micro_batch] = which;
    item const found =
        find(back == 0 ? p.graph.edges[edge].source : p.graph.edges[edge].destination, micro_batch, copy);
    return back == 0 ? found.forward : found.input;
  }

  /// The send posted last before this one from the same slot.
  [[nodiscard]] placed const* before_in_slot(message const& which) const {
    if (!p.is_lowered) return nullptr;
    placed const& own = sent.at(which);
    placed const* best = nullptr;
    for (auto const& [other, send] : sent)
      if (std::get<0>(other) == std::get<0>(which) && std::get<1>(other) == std::get<1>(which) &&
          std::get<2>(other) == std::get<2>(which) && send.cell.slot == own.cell.slot && send.position < own.position &&
          (best == nullptr || send.position > best->position))
        best = &send;
    return best;
  }

  /// One action after the other, of any rank that can go on, until all have ended.
  std::string progress() {
    std::vector<int> at(static_cast<std::size_t>(p.ranks()));
    auto const has_run = [&](int rank, int position) { return position < at[static_cast<std::size_t>(rank)]; };
    auto const may_run = [&](int rank, ws::action const& cell, int position) {
      int const micro_batch = static_cast<int>(cell.micro_batch);
      bool const forward = cell.what == op::forward;
      if (cell.what == op::norm ||
          (cell.what == op::reduce_gradient && cell.group == static_cast<int>(ws::reduction::tied))) {
        auto const is_same = [&](ws::action const& other) {
          return other.what == cell.what && (cell.what == op::norm || other.group == cell.group);
        };
        int ordinal = 0;
        for (int index = 0; index < position; ++index) ordinal += is_same(p.row(rank)[index]);
        for (int other = 0; other < p.ranks(); ++other) {
          int seen = 0;
          for (int index = 0; index < p.row(other).size; ++index)
            if (is_same(p.row(other)[index]) && seen++ == ordinal && at[static_cast<std::size_t>(other)] < index)
              return false;
        }
      }
      if (!forward && cell.what != op::backward && cell.what != op::backward_input) return true;
      for (int edge = 0; edge < p.graph.edge_count; ++edge) {
        auto const line = p.graph.edges[edge];
        int const back = forward ? 0 : 1;
        bool const reads = (forward ? line.destination : line.source) == cell.stage;
        bool const writes = (forward ? line.source : line.destination) == cell.stage;
        message const which{back, edge, cell.copy, micro_batch};
        if (reads && crosses(edge, cell.copy)) {
          int const other = forward ? line.source : line.destination;
          int const peer = p.graph.rank_of(other, cell.copy);
          item const theirs = find(other, micro_batch, cell.copy);
          if (has_posts ? !has_run(peer, sent.at(which).position)
                        : !has_run(peer, forward ? theirs.forward : theirs.input))
            return false;
        }
        if (has_posts && writes && sent.count(which) != 0)
          if (placed const* before = before_in_slot(which)) {
            auto const [b, e, c, m] =
                std::tuple{back, edge, static_cast<int>(cell.copy), static_cast<int>(before->cell.micro_batch)};
            placed const& receive = received.at({b, e, c, m});
            if (!has_run(receive.rank, receive.position)) return false;
          }
      }
      return true;
    };
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < p.ranks(); ++rank) {
        int& here = at[static_cast<std::size_t>(rank)];
        if (here == p.row(rank).size || !may_run(rank, p.row(rank)[here], here)) continue;
        ++here;
        moved = true;
      }
    }
    for (int rank = 0; rank < p.ranks(); ++rank)
      if (at[static_cast<std::size_t>(rank)] < p.row(rank).size) return "it does not end";
    return "";
  }

  ws::program_view p;
  std::vector<placed> all;  ///< rank by rank, in row order
  bool has_posts = false;
  bool some_optimizer = false;
  std::map<message, placed> sent;
  std::map<message, placed> received;
};

/// The empty string for a program that may run, or what is wrong with it.
inline std::string wrong_with(ws::program_view const& program) { return reader(program).run(); }

}  // namespace slow_reading
