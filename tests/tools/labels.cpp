// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// labels <recorder library>: real training steps under a Kokkos tool. Every name that the tool sees begins with
/// `weft::`, or is one of those that Kokkos makes itself; regions are those of the program, and all of them are left.

#define DOCTEST_CONFIG_IMPLEMENT
#include "recorder.hpp"

#include <doctest/doctest.h>
#include <support/count_cases.hpp>
#include <support/tiny_training.hpp>
#include <unit/schedule_support.hpp>
#include <unit/toy_stage.hpp>

#include <weft/pipeline/pipeline.hpp>
#include <weft/profiling/kokkos_tools.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>

REGISTER_LISTENER("count_cases", 1, weft_test::count_cases);

namespace {

weft_tool::take_function take_from_library = nullptr;

weft_tool::events take() {
  weft_tool::events events;
  take_from_library(&events);
  return events;
}

/// Names that no caller of Kokkos can choose.
bool is_kokkos_own(weft_tool::event const& event) {
  auto const starts = [&](std::string_view part) { return event.name.starts_with(part); };
  bool const is_copy = event.kind.starts_with("copy");
  bool const is_kernel = event.kind.starts_with("parallel");
  // A view over memory that the caller owns has no label in Kokkos: none in 3.4, "UNMANAGED" or none later.
  if (is_copy && (event.name.empty() || event.name == "UNMANAGED")) return true;
  // A view is filled with one number.
  if (event.kind == "copy from" && (event.name == "(none)" || event.name == "Scalar")) return true;
  // A view's memory is set to zero.
  if (is_kernel && (starts("Kokkos::View::initialization [weft::") || starts("Kokkos::ViewFill-1D"))) return true;
  if (is_kernel && starts("Kokkos::ViewCopy-1D")) return true;
  // What a backend keeps for reductions.
  if (event.kind == "allocate" && starts("Kokkos::") && event.name.ends_with("::scratch_mem")) return true;
  // Kokkos waits for itself: within a copy, an allocation, the filling of a view. A fence of ours that has no name
  // would be an "Unnamed Instance Fence".
  bool const is_unnamed = event.name.find("Unnamed") != std::string::npos;
  if (event.kind == "fence" && !is_unnamed && (starts("Kokkos::") || starts("HostSpace::"))) return true;
  return false;
}

std::vector<std::string> foreign_names(weft_tool::events const& events) {
  std::vector<std::string> found;
  for (auto const& event : events)
    if (event.kind != "pop" && !event.name.starts_with("weft::") && !is_kokkos_own(event))
      found.push_back(event.kind + " '" + event.name + "'");
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// Deepest nesting, or -1 where a pop comes without a push or a push is left.
int depth_of(weft_tool::events const& events) {
  int depth = 0;
  int deepest = 0;
  for (auto const& event : events) {
    if (event.kind == "push") deepest = std::max(deepest, ++depth);
    if (event.kind == "pop" && --depth < 0) return -1;
  }
  return depth == 0 ? deepest : -1;
}

std::vector<std::string> regions(weft_tool::events const& events) {
  std::vector<std::string> names;
  for (auto const& event : events)
    if (event.kind == "push") names.push_back(event.name);
  return names;
}

std::vector<std::string> regions_of_row(weft::schedule::program_view const& program, int rank) {
  std::vector<std::string> names;
  for (auto const& each : program.row(rank)) {
    if (weft::schedule::traits_of(each.what).is_post) continue;
    std::string const letters = weft::schedule::traits_of(each.what).letters;
    if (letters == "NORM")
      names.emplace_back("weft::NORM");
    else if (letters == "STEP" || letters == "REDUCE_GRAD")
      names.push_back("weft::stage " + std::to_string(each.stage) + " " + letters);
    else
      names.push_back("weft::stage " + std::to_string(each.stage) + " " + letters + std::to_string(each.micro_batch));
  }
  return names;
}

}  // namespace

TEST_CASE("regions: names are the glossary's") {
  using weft::profiling::region_name;
  using weft::schedule::op;
  CHECK(region_name(op::forward, 2, 5) == "weft::stage 2 F5");
  CHECK(region_name(op::backward_weight, 0, 11) == "weft::stage 0 W11");
  CHECK(region_name(op::reduce_gradient, 2, 0) == "weft::stage 2 REDUCE_GRAD");
  CHECK(region_name(op::norm, 0, 0) == "weft::NORM");
  CHECK(region_name(op::step, 1, 0) == "weft::stage 1 STEP");
}

TEST_CASE("regions: one rank passes those of its row, in order, and none is nested") {
  auto const program = weft::schedule::make_program("serial", 1, 3, {.recompute = true});
  take();
  tiny_training::run({.schedule = "serial", .recompute = true}, 2);
  auto const events = take();
  auto row = regions_of_row(program.view(), 0);
  CHECK(std::count(row.begin(), row.end(), "weft::NORM") == 1);
  CHECK(std::count(row.begin(), row.end(), "weft::stage 0 R2") == 1);
  auto const once = row;
  row.insert(row.end(), once.begin(), once.end());  // two steps
  CHECK(regions(events) == row);
  CHECK(depth_of(events) == 1);
}

TEST_CASE("regions: ranks as threads pass those of all rows") {
  for (char const* const schedule : {"gpipe", "1f1b", "zb-h1"}) {
    CAPTURE(schedule);
    auto const program = weft::schedule::make_program(schedule, 3, 3);
    std::map<std::string, int> expected;
    for (int rank = 0; rank < 3; ++rank)
      for (auto const& name : regions_of_row(program.view(), rank)) expected[name] += 2;
    take();
    tiny_training::run({.schedule = schedule, .ranks = 3}, 2);
    auto const events = take();
    std::map<std::string, int> seen;
    for (auto const& name : regions(events)) ++seen[name];
    CHECK(seen == expected);
    CHECK(depth_of(events) >= 1);
  }
}

TEST_CASE("labels: whatever the library names begins with weft::, in training, evaluation and saving") {
  take();
  tiny_training::run({.schedule = "1f1b", .ranks = 3, .recompute = true, .evaluate_every = 1, .dropout = 0.1}, 2);
  tiny_training::run({.schedule = "gpipe", .ranks = 2, .switch_at = 1, .then = {{.schedule = "serial"}}}, 2);
  tiny_training::run({.schedule = "zb-h1", .ranks = 2, .data_ranks = 2}, 2);
  auto const events = take();
  std::map<std::string, int> kinds;
  for (auto const& event : events) ++kinds[event.kind];
  CHECK(kinds["parallel_for"] > 100);  // the tool does see them
  CHECK(kinds["allocate"] > 20);
  CHECK(kinds["copy to"] > 10);
  auto const foreign = foreign_names(events);
  CHECK_MESSAGE(foreign.empty(), "first: ", foreign.empty() ? "" : foreign.front(), ", ", foreign.size(), " in all");
}

TEST_CASE("regions: left by an exception, too, at every pass") {
  auto const program =
      weft::schedule::make_program("1f1b", 2, 3, {.tied = weft::schedule::tied_stages::none, .optimizer = false});
  for (char const pass : {'F', 'I', 'W'}) {
    CAPTURE(pass);
    take();
    try {
      weft::transport::in_process::run(2, [&](weft::transport::endpoint& door) {
        toy::stage stage(2, 3);
        stage.probe = [&](char at, toy::context const& where) {
          if (at == pass && where.stage() == 1 && where.micro_batch() == 1) throw std::runtime_error("this one fails");
        };
        weft::pipeline<toy::stage, toy::space> engine(program.view(), door, stage);
        engine.step();
      });
      FAIL("the stage's exception went astray");
    } catch (weft::error const& failure) {
      CHECK(std::string(failure.what()).find("this one fails") != std::string::npos);
    }
    auto const events = take();
    CHECK(depth_of(events) == 1);
    auto const names = regions(events);
    std::string const failed = pass == 'F' ? "weft::stage 1 F1" : "weft::stage 1 B1";
    CHECK(std::count(names.begin(), names.end(), failed) == 1);
  }
}

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: labels <recorder library>\n");
    return 2;
  }
#if KOKKOS_VERSION >= 40000
  ::setenv("KOKKOS_TOOLS_LIBS", argv[1], 1);
#else
  ::setenv("KOKKOS_PROFILE_LIBRARY", argv[1], 1);
#endif
  Kokkos::ScopeGuard const kokkos(argc, argv);
  void* const library = ::dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
  if (library != nullptr)
    take_from_library = reinterpret_cast<weft_tool::take_function>(::dlsym(library, "weft_tool_take"));
  if (take_from_library == nullptr || !weft::profiling::has_tool()) {
    std::fprintf(stderr, "labels: Kokkos did not load %s\n", argv[1]);
    return 2;
  }
  doctest::Context context;
  int const result = context.run();
  return result != 0 || weft_test::count_cases::ran() == 0 ? 1 : 0;
}
