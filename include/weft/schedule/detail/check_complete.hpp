// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/detail/scan_report.hpp>
#include <weft/topology/stage_graph.hpp>

/// @file
/// What `scanner` asks once all rows are read: is all work done, and has every message both ends?
namespace weft::inline v1::schedule::detail {

/// What is missing of an item in `state`, of the passes in `wanted`.
template <class Scan>
constexpr defect missing_pass(unsigned state) {
  if ((state & Scan::has_forward) == 0) return defect::missing_forward;
  return (state & Scan::has_input) == 0 ? defect::missing_backward : defect::missing_weight;
}

template <class Scan>
constexpr unsigned wanted_passes(Scan const& scan, int stage) {
  return scan.updates.has_backward(stage) ? (Scan::has_forward | Scan::has_input | Scan::has_weight)
                                          : Scan::has_forward;
}

/// With several copies of the model, each micro-batch is the business of exactly one of them, in all its stages.
template <class Scan>
constexpr void check_complete_copies(Scan& scan) {
  auto const& graph = scan.program.graph;
  for (int micro_batch = 0; micro_batch < scan.micro_batches; ++micro_batch) {
    auto const state_of = [&](int copy, int stage) -> unsigned {
      return scan.done[(copy * graph.stages + stage) * scan.micro_batches + micro_batch];
    };
    int owner = 0;  // the copy that does most of it
    int most = -1;
    for (int copy = 0; copy < graph.copies; ++copy) {
      int complete = 0;
      for (int stage = 0; stage < graph.stages; ++stage)
        complete += (state_of(copy, stage) & wanted_passes(scan, stage)) == wanted_passes(scan, stage);
      if (complete <= most) continue;
      most = complete;
      owner = copy;
    }
    for (int stage = 0; stage < graph.stages; ++stage)
      for (int copy = 0; copy < graph.copies; ++copy) {
        unsigned const state = state_of(copy, stage);
        unsigned const wanted = wanted_passes(scan, stage);
        if (copy == owner && (state & wanted) != wanted)
          scan.report.about(missing_pass<Scan>(state), graph.rank_of(stage, copy), stage, micro_batch);
        if (copy != owner && (state & wanted) != 0)
          scan.report.about(defect::two_copies, graph.rank_of(stage, copy), stage, micro_batch,
                            graph.rank_of(stage, owner));
      }
  }
}

template <class Scan>
constexpr void check_complete(Scan& scan) {
  auto const& graph = scan.program.graph;
  if (graph.copies > 1) return check_complete_copies(scan);
  int const count = scan.micro_batches;
  unsigned char const* const state_of = scan.done.data();
  for (int stage = 0; stage < graph.stages; ++stage) {
    unsigned const wanted = wanted_passes(scan, stage);
    int complete = 0;
    for (int item = stage * count; item < (stage + 1) * count; ++item)
      if ((state_of[item] & wanted) == wanted) ++complete;
    if (complete == count) continue;
    for (int micro_batch = 0; micro_batch < count; ++micro_batch) {
      unsigned const state = state_of[stage * count + micro_batch];
      if ((state & wanted) != wanted)
        scan.report.about(missing_pass<Scan>(state), graph.rank_of(stage), stage, micro_batch);
    }
  }
}

template <class Scan>
constexpr int position_of(Scan const& scan, int rank, op what, int stage, int micro_batch) {
  row_view const row = scan.program.row(rank);
  for (int position = 0; position < row.size; ++position)
    if (row[position].what == what && row[position].stage == stage &&
        static_cast<int>(row[position].micro_batch) == micro_batch)
      return position;
  return -1;
}

/// Every message has both ends, and both ends agree on the order.
template <class Scan>
constexpr void check_messages(Scan& scan) {
  auto const& graph = scan.program.graph;
  auto& report = scan.report;
  int const count = scan.micro_batches;
  int const* const sent = scan.sent.data();
  int const* const received = scan.received.data();
  for (int channel = 0; channel < scan.lines.count(); ++channel) {
    if (!scan.lines.crosses[channel / 2]) continue;
    topology::edge const line = graph.edges[channel / 2 % graph.edge_count];
    int const copy = channel / 2 / graph.edge_count;
    bool const forward = channel % 2 == 0;
    if (!forward && !scan.updates.has_backward(line.source)) continue;
    int const source = forward ? line.source : line.destination;
    int const destination = forward ? line.destination : line.source;
    int const sender = graph.rank_of(source, copy);
    int const receiver = graph.rank_of(destination, copy);
    for (int micro_batch = 0; micro_batch < count; ++micro_batch) {
      int const out = sent[channel * count + micro_batch];
      int const in = received[channel * count + micro_batch];
      if (out == in && out != 0) continue;
      // Nobody sends what another copy of the model, or nobody, has made.
      if (out == 0 && in == 0 &&
          (scan.done[(copy * graph.stages + source) * count + micro_batch] & Scan::has_forward) == 0)
        continue;
      if (out == 0) {
        if (report.about(defect::missing_send, sender, source, micro_batch, receiver))
          report.found.owed = forward ? op::send_forward : op::send_backward;
      } else if (in == 0) {
        if (report.about(defect::missing_receive, receiver, destination, micro_batch, sender))
          report.found.owed = forward ? op::receive_forward : op::receive_backward;
      } else if (report.about(defect::order_mismatch, receiver, destination, micro_batch, sender)) {
        report.found.action = forward ? op::receive_forward : op::receive_backward;
        report.found.value = in - 1;
        report.found.limit = out - 1;
        report.found.position = position_of(scan, receiver, report.found.action, destination, micro_batch);
      }
    }
  }
}

}  // namespace weft::inline v1::schedule::detail
