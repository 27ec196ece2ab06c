// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedule_support.hpp"
#include "toy_stage.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/profiling/all.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/transport/in_process.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace profiling = weft::profiling;
using nlohmann::json;

namespace {

weft::schedule::program toy_program(char const* schedule, int ranks, int micro_batches) {
  return weft::schedule::make_program(schedule, ranks, micro_batches,
                                      {.tied = weft::schedule::tied_stages::none, .optimizer = false});
}

struct recorded {
  std::vector<std::vector<weft::instruction>> instructions;
  std::vector<std::vector<weft::action_time>> times;
  std::vector<double> seconds;
};

recorded run_toy(weft::schedule::program const& program, bool record) {
  int const ranks = program.view().ranks();
  recorded result;
  result.instructions.resize(static_cast<std::size_t>(ranks));
  result.times.resize(static_cast<std::size_t>(ranks));
  result.seconds.resize(static_cast<std::size_t>(ranks));
  weft::transport::in_process::run(ranks, [&](weft::transport::endpoint& door) {
    toy::stage stage(program.view().stages(), program.view().micro_batches);
    weft::pipeline<toy::stage, toy::space> engine(program.view(), door, stage, {.record_times = record});
    engine.step();
    engine.step();
    auto const rank = static_cast<std::size_t>(door.rank());
    result.instructions[rank] = engine.instructions();
    result.times[rank] = engine.times();
    result.seconds[rank] = engine.last_step_seconds();
  });
  return result;
}

std::string written(profiling::trace_events const& events, profiling::trace_facts const& facts = {}) {
  std::string text;
  profiling::write_chrome_trace(events, facts, [&](std::string_view piece) { text += piece; });
  return text;
}

profiling::trace_slice slice_at(double begin, double end, int rank = 0, int track = profiling::measured) {
  profiling::trace_slice made;
  made.what = weft::schedule::make_action(weft::schedule::op::forward, 0, 0);
  made.rank = rank;
  made.track = track;
  made.begin = begin;
  made.end = end;
  return made;
}

}  // namespace

TEST_CASE("action times: every action and message of a step has its own, within the step") {
  for (char const* const schedule : {"gpipe", "1f1b", "zb-h1"})
    for (int ranks = 1; ranks <= 4; ++ranks) {
      auto const program = toy_program(schedule, ranks, 5);
      auto const run = run_toy(program, true);
      std::map<std::tuple<int, int, bool>, std::int64_t> sent, received;  // stage entered, micro-batch, is gradient
      for (std::size_t rank = 0; rank < run.times.size(); ++rank) {
        REQUIRE(run.times[rank].size() == run.instructions[rank].size());
        double last = 0.0;
        for (std::size_t index = 0; index < run.times[rank].size(); ++index) {
          auto const& time = run.times[rank][index];
          auto const& each = run.instructions[rank][index];
          auto const& facts = weft::schedule::traits_of(each.what);
          CHECK(time.begin >= 0.0);
          CHECK(time.end >= time.begin);
          CHECK(time.end <= run.seconds[rank]);
          if (facts.is_post) {
            // header and counts (128 bytes), five doubles; forward two int32 more, each component aligned
            CHECK(time.bytes >= 128 + 5 * 8);
            bool const forward = facts.is_forward_direction;
            int const entered = facts.is_send ? each.stage + (forward ? 1 : -1) : each.stage;
            (facts.is_send ? sent : received)[{entered, each.micro_batch, !forward}] = time.bytes;
          } else {
            CHECK(time.bytes == 0);
            CHECK(time.begin >= last);
            last = time.end;
          }
        }
      }
      CHECK(sent == received);
      CHECK(static_cast<int>(sent.size()) == 2 * 5 * (ranks - 1));
    }
}

TEST_CASE("action times: nothing is recorded unless asked for") {
  auto const run = run_toy(toy_program("1f1b", 2, 3), false);
  CHECK(run.times[0].empty());
  CHECK(run.times[1].empty());
}

TEST_CASE("trace: planned and measured of all ranks, every message from its maker to its reader") {
  int const ranks = 3;
  int const micro_batches = 4;
  auto const program = toy_program("zb-h1", ranks, micro_batches);
  std::string text;
  weft::transport::in_process::run(ranks, [&](weft::transport::endpoint& door) {
    toy::stage stage(ranks, micro_batches);
    weft::pipeline<toy::stage, toy::space> engine(program.view(), door, stage, {.record_times = true});
    auto const clock = profiling::compare_clocks(door, 10.0);
    CHECK(clock.error >= 0.0);
    CHECK(std::abs(clock.seconds) <= clock.error);  // threads of one process share a clock
    engine.step();
    profiling::measured_costs costs(program.view());
    costs.add(door.rank(), engine.times());
    auto const model = costs.share(door, 0.5 * clock.round_trip, 10.0);
    for (int which = 0; which < ranks; ++which) CHECK(model.of(which).forward > 0.0);
    auto const plan = weft::schedule::make_timeline(program.view(), model);
    profiling::trace_recorder recorder(program.view(), {.rank = door.rank()});
    double const begin = profiling::seconds_of(engine.last_step_begin()) + clock.seconds;
    recorder.add_measured(7, engine.times(), begin);
    recorder.add_planned(7, plan, begin);
    auto const events = profiling::gather(door, recorder.events(), 10.0);
    if (door.rank() == 0) text = written(events, {{"a \"quoted\" name", "back\\slash"}});
  });
  json const trace = json::parse(text);
  CHECK(trace["otherData"]["a \"quoted\" name"] == "back\\slash");
  std::map<int, std::string> processes;
  std::map<std::pair<int, std::string>, std::vector<std::string>> rows;
  std::map<std::pair<int, int>, std::string> threads;
  std::map<int, std::map<std::string, int>> flows;
  for (json const& event : trace["traceEvents"])
    if (event["name"] == "thread_name") threads[{event["pid"], event["tid"]}] = event["args"]["name"];
  for (json const& event : trace["traceEvents"]) {
    std::string const kind = event["ph"];
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (kind == "X") rows[{event["pid"], threads.at({event["pid"], event["tid"]})}].push_back(event["name"]);
    if (kind == "s" || kind == "t" || kind == "f") ++flows[event["id"]][kind];
  }
  CHECK(processes == std::map<int, std::string>{{0, "rank 0"}, {1, "rank 1"}, {2, "rank 2"}});
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<std::string> expected;
    for (auto const& each : program.view().row(rank))
      if (!weft::schedule::traits_of(each.what).is_post)
        expected.push_back(weft::schedule::traits_of(each.what).letters + std::to_string(each.micro_batch));
    CHECK(rows[{rank, "measured"}] == expected);
    CHECK(rows[{rank, "planned"}] == expected);
  }
  CHECK(flows.size() == 2U * 2U * micro_batches * (ranks - 1));  // planned and measured, both directions
  int with_steps = 0;
  for (auto const& [number, points] : flows) {
    CHECK(points.at("s") == 1);
    CHECK(points.at("f") == 1);
    with_steps += points.count("t") == 1 ? 1 : 0;
  }
  CHECK(with_steps == 2 * micro_batches * (ranks - 1));
}

TEST_CASE("measured costs: a sum over the data axis is no sum of tied gradients") {
  using weft::schedule::op;
  for (bool const has_tied : {false, true}) {
    auto const program = weft::schedule::make_program(
        "gpipe", 2, 2,
        {.tied = has_tied ? weft::schedule::tied_stages::first_and_last : weft::schedule::tied_stages::none,
         .reduce_over_data = true});
    weft::transport::in_process::run(2, [&](weft::transport::endpoint& door) {
      std::vector<weft::action_time> times;
      for (auto const& each : program.view().row(door.rank())) {
        // What each takes, the second rank twice as long: a sum over the data axis is posted in a moment.
        bool const over_data = each.group == static_cast<int>(weft::schedule::reduction::data);
        double const alone = each.what == op::reduce_gradient ? (over_data ? 0.001 : 0.5)
                             : each.what == op::norm          ? 4
                                                              : 1;
        times.push_back({0.0, alone * (door.rank() + 1)});
      }
      profiling::measured_costs costs(program.view());
      costs.add(door.rank(), times);
      auto const model = costs.share(door, 0.0, 10.0);
      CHECK(model.reduce_gradient == (has_tied ? 0.5 : 0.0));
      CHECK(model.reduce_data == 0.0);
      CHECK(model.norm == 4.0);
      CHECK(model.of(1).forward == 2.0);
    });
  }
}

TEST_CASE("trace: ranks of the job are not those of the program where several pipelines share it") {
  auto const program = toy_program("1f1b", 2, 1);
  std::vector<int> const ranks{3, 5};
  profiling::trace_events all;
  for (int rank = 0; rank < 2; ++rank) {
    profiling::trace_recorder recorder(program.view(), {rank, ranks, 1});
    recorder.add_measured(1, std::vector<weft::action_time>(static_cast<std::size_t>(program.view().row(rank).size)),
                          1.0);
    for (auto const& each : recorder.events().slices) {
      CHECK(each.rank == ranks[static_cast<std::size_t>(rank)]);
      if (weft::schedule::traits_of(each.what.what).is_post)
        CHECK(each.peer == ranks[static_cast<std::size_t>(1 - rank)]);
      all.slices.push_back(each);
    }
    for (auto const& each : recorder.events().points) all.points.push_back(each);
    // another pipeline's messages are other flows
    profiling::trace_recorder other(program.view(), {rank, ranks, 0});
    other.add_measured(1, std::vector<weft::action_time>(static_cast<std::size_t>(program.view().row(rank).size)), 1.0);
    for (auto const& left : recorder.events().points)
      for (auto const& right : other.events().points) CHECK(left.flow != right.flow);
  }
  CHECK(all.points.size() == 2 * 4);
  CHECK(json::parse(written(all)).is_object());
}

TEST_CASE("trace: messages under way at once are shown on threads of their own") {
  auto const program = toy_program("gpipe", 2, 3);
  auto const row = program.view().row(1);
  std::vector<weft::action_time> times(static_cast<std::size_t>(row.size));
  int receives = 0;
  for (int index = 0; index < row.size; ++index)
    if (row[index].what == weft::schedule::op::receive_forward)
      times[static_cast<std::size_t>(index)] = {0.1 * receives++, 1.0, 64};  // all are under way until 1.0
    else
      times[static_cast<std::size_t>(index)] = {2.0, 2.0};
  profiling::trace_recorder recorder(program.view(), {.rank = 1});
  recorder.add_measured(1, times, 0.0);
  std::set<int> tracks;
  for (auto const& each : recorder.events().slices)
    if (each.what.what == weft::schedule::op::receive_forward) tracks.insert(each.track);
  REQUIRE(receives == 3);
  CHECK(tracks == std::set<int>{profiling::messages, profiling::messages + 1, profiling::messages + 2});
}

TEST_CASE("trace: times count from the earliest event, to the nanosecond; arrows from nowhere are left out") {
  profiling::trace_events events;
  events.slices = {slice_at(1000.000002, 1000.0000035), slice_at(1000.000001, 1000.000002)};
  events.points = {{5, 1000.000001, 0, profiling::measured, profiling::trace_point::begins, 0},
                   {9, 1000.000001, 0, profiling::measured, profiling::trace_point::begins, 1},
                   {9, 1000.000002, 0, profiling::measured, profiling::trace_point::ends, 1},
                   {6, 1000.000002, 0, profiling::measured, profiling::trace_point::ends, 0}};
  std::string const text = written(events);
  CHECK(text.find("\"ts\":0.000,\"dur\":1.000") != std::string::npos);
  CHECK(text.find("\"ts\":1.000,\"dur\":1.500") != std::string::npos);
  json const trace = json::parse(text);
  std::vector<std::string> kinds;
  for (json const& event : trace["traceEvents"])
    if (event["ph"] != "X" && event["ph"] != "M") {
      kinds.push_back(event["ph"]);
      CHECK(event["id"] == 1);
      CHECK(event["name"] == "gradients");
    }
  CHECK(kinds == std::vector<std::string>{"s", "f"});
  CHECK(json::parse(written({}))["traceEvents"].empty());
}

TEST_CASE("trace: strings are JSON whatever is in them") {
  std::string every;
  for (int byte = 1; byte < 256; ++byte) every += static_cast<char>(byte);
  for (std::string const& text :
       {every, std::string("\0zero", 5), std::string("caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\xA7\xB5"),
        std::string("\xC0\xAF overlong"), std::string("\xED\xA0\x80 surrogate"), std::string("\xF4\x90\x80\x80 beyond"),
        std::string("cut \xE2\x82"), std::string("\xF0\x80\x80\xAF")}) {
    std::string const written = profiling::detail::json_string(text);
    CAPTURE(written);
    json parsed;
    CHECK_NOTHROW(parsed = json::parse(written));  // refuses what is no UTF-8
  }
  CHECK(json::parse(profiling::detail::json_string("caf\xC3\xA9 \"\\\n\t")) == "caf\xC3\xA9 \"\\\n\t");
}
