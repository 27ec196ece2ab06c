// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/profiling/trace.hpp>
#include <weft/schedule/action_name.hpp>
#include <weft/schedule/op.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// @file
/// Chrome's trace event format (JSON), which ui.perfetto.dev and chrome://tracing open: a process for each rank,
/// threads for the plan, the measurement and the messages under way, arrows from each send to its receive. See
/// docs/traces.md. Format: "Trace Event Format", Google 2016. Nothing here communicates.

namespace weft::inline v1::profiling {

/// What every file of `write_chrome_trace` begins with: who replaces a file can see whether it is one.
inline constexpr std::string_view trace_opening = "{\"displayTimeUnit\":\"ms\",\"otherData\":{";

/// What a trace says about itself, as (name, value).
using trace_facts = std::vector<std::pair<std::string, std::string>>;

namespace detail {

/// A JSON string: quotes, backslashes and control characters escaped, and what is no UTF-8 replaced by '?'.
inline std::string json_string(std::string_view text) {
  constexpr char const* digits = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size(); ++at) {
    auto const byte = static_cast<unsigned char>(text[at]);
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[at];
    } else if (byte < 0x20U || byte == 0x7FU) {
      out += "\\u00";
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    } else if (byte < 0x80U) {
      out += text[at];
    } else {
      std::size_t const more = byte >= 0xF0U && byte < 0xF5U   ? 3
                               : byte >= 0xE0U && byte < 0xF0U ? 2
                               : byte >= 0xC2U && byte < 0xE0U ? 1
                                                               : 0;
      bool whole = more > 0 && at + more < text.size();
      for (std::size_t next = 1; whole && next <= more; ++next)
        whole = (static_cast<unsigned char>(text[at + next]) & 0xC0U) == 0x80U;
      auto const second = whole ? static_cast<unsigned char>(text[at + 1]) : 0U;
      if ((byte == 0xE0U && second < 0xA0U) || (byte == 0xEDU && second > 0x9FU) || (byte == 0xF0U && second < 0x90U) ||
          (byte == 0xF4U && second > 0x8FU))
        whole = false;  // overlong, a surrogate, or beyond Unicode
      out += whole ? text.substr(at, more + 1) : std::string_view("?");
      if (whole) at += more;
    }
  }
  return out + '"';
}

/// Nanoseconds as the microseconds of the format, exactly and in any locale.
inline std::string microseconds(std::int64_t nanoseconds) {
  std::string fraction = std::to_string(nanoseconds % 1000);
  return std::to_string(nanoseconds / 1000) + '.' + std::string(3 - fraction.size(), '0') + fraction;
}

inline std::string slice_name(schedule::action const& what) {
  return schedule::action_name(what.what, static_cast<int>(what.micro_batch));
}

inline std::string track_name(std::int32_t track) {
  if (track == planned) return "planned";
  if (track == measured) return "measured";
  return track == messages ? "messages" : "messages " + std::to_string(track - messages + 1);
}

class chrome_writer {
 public:
  chrome_writer(trace_events& events, trace_facts const& facts) : events_(events), facts_(facts) {
    zero_ = std::numeric_limits<double>::infinity();
    for (trace_slice const& each : events_.slices) zero_ = (std::min)(zero_, each.begin);
    std::sort(events_.slices.begin(), events_.slices.end(), [](trace_slice const& left, trace_slice const& right) {
      return std::tie(left.rank, left.track, left.begin, left.end) <
             std::tie(right.rank, right.track, right.begin, right.end);
    });
    keep_whole_flows();
  }

  template <class Sink>
  void write(Sink&& sink) {
    sink(trace_opening);
    char const* between = "";
    for (auto const& [name, value] : facts_) {
      sink(std::string_view(between + json_string(name) + ':' + json_string(value)));
      between = ",\n";
    }
    sink(std::string_view("},\"traceEvents\":[\n"));
    between = "";
    auto const event = [&](std::string const& text) {
      sink(std::string_view(between + text));
      between = ",\n";
    };
    std::int32_t rank = -1;
    std::int32_t track = -1;
    for (trace_slice const& each : events_.slices) {
      if (each.rank != rank) event(name_of("process", each.rank, 0, "rank " + std::to_string(each.rank), each.rank));
      if (each.rank != rank || each.track != track)
        event(name_of("thread", each.rank, each.track, track_name(each.track), each.track));
      rank = each.rank;
      track = each.track;
    }
    for (trace_slice const& each : events_.slices) event(slice(each));
    for (trace_point const& each : events_.points) event(point(each));
    sink(std::string_view("\n]}\n"));
  }

 private:
  [[nodiscard]] std::int64_t nanoseconds(double time) const { return std::llround((time - zero_) * 1e9); }

  [[nodiscard]] static std::string place(std::int32_t rank, std::int32_t track) {
    return "\"pid\":" + std::to_string(rank) + ",\"tid\":" + std::to_string(track);
  }

  [[nodiscard]] static std::string name_of(std::string const& what, std::int32_t rank, std::int32_t track,
                                           std::string const& name, std::int32_t order) {
    std::string const head = R"({"ph":"M",)" + place(rank, track) + R"(,"name":")" + what;
    return head + R"(_name","args":{"name":)" + json_string(name) + "}},\n" + head +
           R"(_sort_index","args":{"sort_index":)" + std::to_string(order) + "}}";
  }

  [[nodiscard]] std::string slice(trace_slice const& each) const {
    auto const& facts = schedule::traits_of(each.what.what);
    std::int64_t const begin = nanoseconds(each.begin);
    std::string text = R"({"ph":"X",)" + place(each.rank, each.track) + ",\"ts\":" + microseconds(begin) +
                       ",\"dur\":" + microseconds(nanoseconds(each.end) - begin) +
                       ",\"name\":" + json_string(slice_name(each.what)) + ",\"cat\":\"" +
                       (facts.is_post      ? "message"
                        : facts.is_compute ? (facts.is_forward_direction ? "forward" : "backward")
                                           : "collective") +
                       R"(","args":{"op":)" + json_string(facts.letters) + ",\"step\":" + std::to_string(each.step);
    if (schedule::has_stage(each.what.what)) text += ",\"stage\":" + std::to_string(each.what.stage);
    if (facts.is_compute || facts.is_post)
      text +=
          ",\"micro-batch\":" + std::to_string(each.what.micro_batch) + ",\"slot\":" + std::to_string(each.what.slot);
    if (each.what.what == schedule::op::reduce_gradient)
      text += each.what.group == static_cast<std::uint8_t>(schedule::reduction::data) ? R"(,"over":"data ranks")"
                                                                                      : R"(,"over":"use sites")";
    if (facts.is_post) text += ",\"bytes\":" + std::to_string(each.bytes) + ",\"peer\":" + std::to_string(each.peer);
    return text + "}}";
  }

  [[nodiscard]] std::string point(trace_point const& each) const {
    char const* const kind = each.what == trace_point::begins ? "s" : each.what == trace_point::passes ? "t" : "f";
    return std::string(R"({"ph":")") + kind + "\"," + place(each.rank, each.track) +
           ",\"ts\":" + microseconds(std::max<std::int64_t>(nanoseconds(each.time), 0)) +
           ",\"id\":" + std::to_string(each.flow) + ",\"name\":\"" +
           (each.is_gradient != 0 ? "gradients" : "activations") + R"(","cat":"message")" +
           (each.what == trace_point::ends ? R"(,"bp":"e"})" : "}");
  }

  /// Numbers flows from 1, and leaves out those that do not have a begin and an end: viewers may not be shown an arrow
  /// from nowhere.
  void keep_whole_flows() {
    auto& points = events_.points;
    std::sort(points.begin(), points.end(), [](trace_point const& left, trace_point const& right) {
      return std::tie(left.flow, left.what, left.time) < std::tie(right.flow, right.what, right.time);
    });
    std::vector<trace_point> kept;
    kept.reserve(points.size());
    std::int64_t number = 0;
    for (std::size_t first = 0, last = 0; first < points.size(); first = last) {
      while (last < points.size() && points[last].flow == points[first].flow) ++last;
      if (points[first].what != trace_point::begins || points[last - 1].what != trace_point::ends) continue;
      ++number;
      for (std::size_t index = first; index < last; ++index) {
        kept.push_back(points[index]);
        kept.back().flow = number;
      }
    }
    points = std::move(kept);
  }

  trace_events& events_;
  trace_facts const& facts_;
  double zero_ = 0.0;
};

}  // namespace detail

/// Writes a whole trace: `sink(std::string_view)` is called with one piece after the other. Times in the file count
/// from the earliest event.
template <class Sink>
void write_chrome_trace(trace_events events, trace_facts const& facts, Sink&& sink) {
  detail::chrome_writer(events, facts).write(sink);
}

}  // namespace weft::inline v1::profiling
