// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/profiling/action_time.hpp>
#include <weft/schedule/action.hpp>
#include <weft/schedule/cost.hpp>
#include <weft/schedule/detail/channels.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/posted.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// A timeline as events, planned and measured alike; `chrome_trace.hpp` writes them. Times in seconds on rank 0's
/// clock.

namespace weft::inline v1::profiling {

/// Which thread of a rank an event is shown on. Messages overlap, so they have as many as are under way at once:
/// `messages`, `messages + 1`, and so on.
enum trace_track : std::int32_t { planned = 0, measured = 1, messages = 2 };

/// One action, or one message from its post to the moment at which it was found complete.
struct trace_slice {
  schedule::action what;
  std::int32_t rank = 0;
  std::int32_t track = measured;
  std::int32_t step = 0;
  std::int32_t peer = -1;  ///< of a message: the rank at the other end
  std::int64_t bytes = 0;  ///< of a message
  double begin = 0.0;
  double end = 0.0;
};

/// Where a message passes: from the action that made it over its send and its receive to the action that reads it.
struct trace_point {
  enum role : std::int32_t { begins, passes, ends };
  std::int64_t flow = 0;  ///< the same number at all points of one message
  double time = 0.0;      ///< inside a slice of that rank and track
  std::int32_t rank = 0;
  std::int32_t track = measured;
  role what = begins;
  std::int32_t is_gradient = 0;
};

static_assert(std::is_trivially_copyable_v<trace_slice> && std::is_trivially_copyable_v<trace_point>);

struct trace_events {
  std::vector<trace_slice> slices;
  std::vector<trace_point> points;
};

/// Who a rank of a program is in the job: where several pipelines share it, neither number follows from the other.
struct trace_identity {
  int rank = 0;                  ///< of the program
  std::span<int const> ranks{};  ///< [rank of the program]: rank of the job; empty: the same
  int pipeline = 0;              ///< which of several

  [[nodiscard]] int in_job(int which) const { return ranks.empty() ? which : ranks[static_cast<std::size_t>(which)]; }
};

/// Turns one rank's times into events.
class trace_recorder {
 public:
  /// Does not communicate. `program` must be lowered, without empty cells, and outlive the recorder.
  trace_recorder(schedule::program_view const& program, trace_identity const& self)
      : program_(program),
        self_(self),
        row_(program.row(self.rank)),
        lines_(program),
        partner_(static_cast<std::size_t>(row_.size), -1) {
    for (int position = 0; position < row_.size; ++position)
      if (schedule::detail::is_post(row_[position])) partner_[static_cast<std::size_t>(position)] = partner(position);
  }

  /// What a step took: `times` as the engine recorded them, `begin` the step's begin. Does not communicate.
  void add_measured(int step, std::span<action_time const> times, double begin) {
    std::vector<std::pair<double, int>> posts;
    for (int position = 0; position < row_.size; ++position) {
      if (schedule::detail::is_post(row_[position]))
        posts.emplace_back(times[static_cast<std::size_t>(position)].begin, position);
      else
        add(step, measured, position, begin, times[static_cast<std::size_t>(position)]);
    }
    std::sort(posts.begin(), posts.end());
    std::vector<double> busy_until;
    for (auto const& [posted, position] : posts) {
      action_time const& each = times[static_cast<std::size_t>(position)];
      std::size_t line = 0;
      while (line < busy_until.size() && busy_until[line] > each.begin) ++line;
      if (line == busy_until.size()) busy_until.push_back(0.0);
      busy_until[line] = (std::max)(each.begin, each.end);
      add_message(step, messages + static_cast<std::int32_t>(line), position, begin, each,
                  times[static_cast<std::size_t>((std::max)(partner_[static_cast<std::size_t>(position)], 0))]);
    }
  }

  /// What the program's cost announces; `plan` is of the whole program, in seconds from `begin`. Does not communicate.
  void add_planned(int step, schedule::timeline const& plan, double begin) {
    int first = 0;
    for (int rank = 0; rank < self_.rank; ++rank) first += program_.row(rank).size;
    auto const time_of = [&](int position) {
      auto const& each = plan.actions[first + position];
      return action_time{each.begin, each.end};
    };
    for (int position = 0; position < row_.size; ++position) {
      if (!schedule::detail::is_post(row_[position])) {
        add(step, planned, position, begin, time_of(position));
      } else if (partner_[static_cast<std::size_t>(position)] >= 0) {
        add_end(step, planned, position, begin, time_of(partner_[static_cast<std::size_t>(position)]));
      }
    }
  }

  [[nodiscard]] trace_events const& events() const { return events_; }

 private:
  /// The action that made what is sent, or that reads what is received.
  [[nodiscard]] int partner(int position) const {
    using schedule::op;
    schedule::action const& post = row_[position];
    bool const forward = schedule::traits_of(post.what).is_forward_direction;
    bool const sends = schedule::detail::is_send(post);
    for (int other = position; other >= 0 && other < row_.size; other += sends ? -1 : 1) {
      schedule::action const& each = row_[other];
      bool const matches =
          forward ? each.what == op::forward : each.what == op::backward || each.what == op::backward_input;
      if (matches && each.stage == post.stage && each.micro_batch == post.micro_batch && each.copy == post.copy)
        return other;
    }
    return -1;
  }

  void add(int step, trace_track track, int position, double origin, action_time const& when) {
    events_.slices.push_back({row_[position], self_.in_job(self_.rank), track, step, -1, 0, origin + when.begin,
                              origin + (std::max)(when.begin, when.end)});
  }

  [[nodiscard]] int peer_of(schedule::action const& post, int channel) const {
    auto const& edge = program_.graph.edges[channel / 2 % program_.graph.edge_count];
    return program_.graph.rank_of(edge.source == post.stage ? edge.destination : edge.source, post.copy);
  }

  void add_message(int step, std::int32_t track, int position, double origin, action_time const& when,
                   action_time const& partner) {
    schedule::action const& post = row_[position];
    double const end = (std::max)(when.begin, when.end);
    events_.slices.push_back({post, self_.in_job(self_.rank), track, step,
                              self_.in_job(peer_of(post, lines_.channel_of(post))), when.bytes, origin + when.begin,
                              origin + end});
    if (partner_[static_cast<std::size_t>(position)] < 0) return;
    bool const sends = schedule::detail::is_send(post);
    if (sends) add_end(step, measured, position, origin, partner);
    events_.points.push_back({flow_of(step, measured, post), origin + (sends ? when.begin : just_before(when)),
                              self_.in_job(self_.rank), track, trace_point::passes, is_gradient(post)});
    if (!sends) add_end(step, measured, position, origin, partner);
  }

  /// A flow begins where what is sent was made, and ends where it is read.
  void add_end(int step, trace_track track, int position, double origin, action_time const& partner) {
    schedule::action const& post = row_[position];
    bool const sends = schedule::detail::is_send(post);
    events_.points.push_back({flow_of(step, track, post), origin + (sends ? just_before(partner) : partner.begin),
                              self_.in_job(self_.rank), track, sends ? trace_point::begins : trace_point::ends,
                              is_gradient(post)});
  }

  /// The end, but inside: viewers tie a point to the slice that it lies in.
  [[nodiscard]] static double just_before(action_time const& when) { return (std::max)(when.begin, when.end - 1e-9); }

  [[nodiscard]] static std::int32_t is_gradient(schedule::action const& post) {
    return schedule::traits_of(post.what).is_forward_direction ? 0 : 1;
  }

  [[nodiscard]] std::int64_t flow_of(int step, std::int32_t track, schedule::action const& post) const {
    std::int64_t number = self_.pipeline;
    number = (number << 20) + step % (1 << 20);
    number = 2 * number + (track == planned ? 0 : 1);
    number = number * lines_.count() + lines_.channel_of(post);
    return number * program_.micro_batches + post.micro_batch;
  }

  schedule::program_view program_;
  trace_identity self_;
  schedule::row_view row_;
  schedule::detail::channels<> lines_;
  std::vector<int> partner_;  ///< [position] of a post: of the action it belongs to; -1: none
  trace_events events_;
};

/// The events of all ranks, on rank 0; empty elsewhere. Collective.
inline trace_events gather(transport::endpoint& door, trace_events const& mine, double deadline) {
  constexpr int tag = schedule::tags::collective;
  transport::posted_messages posted(door, "gathering a trace", deadline);
  std::int64_t counts[2] = {static_cast<std::int64_t>(mine.slices.size()),
                            static_cast<std::int64_t>(mine.points.size())};
  trace_events all;
  if (door.rank() != 0) {
    posted.send(counts, sizeof counts, 0, tag);
    posted.send(mine.slices.data(), mine.slices.size() * sizeof(trace_slice), 0, tag);
    posted.send(mine.points.data(), mine.points.size() * sizeof(trace_point), 0, tag);
    posted.settle();
    return all;
  }
  all = mine;
  for (int rank = 1; rank < door.size(); ++rank) {
    posted.receive(counts, sizeof counts, rank, tag);
    posted.settle();
    std::size_t const slices = all.slices.size();
    std::size_t const points = all.points.size();
    all.slices.resize(slices + static_cast<std::size_t>(counts[0]));
    all.points.resize(points + static_cast<std::size_t>(counts[1]));
    posted.receive(all.slices.data() + slices, static_cast<std::size_t>(counts[0]) * sizeof(trace_slice), rank, tag);
    posted.receive(all.points.data() + points, static_cast<std::size_t>(counts[1]) * sizeof(trace_point), rank, tag);
    posted.settle();
  }
  return all;
}

}  // namespace weft::inline v1::profiling
