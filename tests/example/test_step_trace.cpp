// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scratch.hpp"

#include <mini_llm/command_line.hpp>
#include <mini_llm/step_trace.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using mini_llm::traced_steps;
using weft_test::has;

namespace {

mini_llm::options parsed(std::vector<std::string> const& arguments) {
  return mini_llm::parse_command_line(arguments).chosen;
}

std::string refusal(std::vector<std::string> const& arguments, std::int64_t done = 0) {
  return weft_test::message_of<weft::error>([&] { (void)traced_steps(parsed(arguments), done); });
}

}  // namespace

TEST_CASE("trace: the steps that are recorded") {
  auto const steps = [](std::vector<std::string> const& arguments, std::int64_t done = 0) {
    auto const range = traced_steps(parsed(arguments), done);
    return std::to_string(range.first) + ":" + std::to_string(range.last);
  };
  CHECK(traced_steps(parsed({}), 0).first == 0);  // none
  CHECK(steps({"--trace", "t.json"}) == "3:5");
  CHECK(steps({"--trace", "t.json", "--steps", "200"}, 100) == "103:105");  // resumed
  CHECK(steps({"--trace", "t.json", "--steps", "4"}) == "3:4");
  CHECK(steps({"--trace", "t.json", "--steps", "1"}) == "1:1");
  CHECK(steps({"--trace", "t.json", "--trace-steps", "7:9"}) == "7:9");
  CHECK(steps({"--trace", "t.json", "--trace-steps", "7"}) == "7:7");
  CHECK(steps({"--trace", "t.json", "--steps", "9", "--trace-steps", "1:9"}) == "1:9");
}

TEST_CASE("trace: steps that cannot be recorded") {
  CHECK(has(refusal({"--trace-steps", "1:2"}), "nothing where to"));
  CHECK(has(refusal({"--trace", "t", "--steps", "8", "--trace-steps", "7:9"}), "1:8 are there"));
  CHECK(has(refusal({"--trace", "t", "--steps", "8", "--trace-steps", "2:3"}, 5), "6:8 are there"));
  CHECK(has(refusal({"--trace", "t", "--steps", "0"}), "raise --steps above 0"));
  for (char const* const wrong : {"0:3", "3:2", "a", "1:", ":2", "1:2:3", "-1:2", "", "1:99999999999"}) {
    CAPTURE(wrong);
    CHECK(has(refusal({"--trace", "t", "--trace-steps", wrong}), "A:B with A not above B"));
  }
}

TEST_CASE("trace and tokens: a run's settings can be read again") {
  auto const chosen = parsed({"--trace", "t.json", "--trace-steps", "4:6", "--data-format", "uint16"});
  auto const json = mini_llm::to_json(chosen);
  CHECK(json["trace"] == "t.json");
  CHECK(json["trace-steps"] == "4:6");
  CHECK(json["data-format"] == "uint16");
  CHECK_FALSE(mini_llm::to_json(parsed({})).contains("trace-steps"));
}

TEST_CASE("trace: the path is tried at once, by rank 0 alone, and an older file stays until the new one is whole") {
  weft_test::scratch const folder;
  using recorder = mini_llm::step_trace;
  CHECK(has(weft_test::message_of<weft::error>([&] { recorder(folder.path(), {1, 2}, true); }), "is no regular file"));
  CHECK(has(weft_test::message_of<weft::error>([&] { recorder("/dev/null", {1, 2}, true); }), "is no regular file"));
  CHECK(has(weft_test::message_of<weft::error>([&] {
              recorder(folder / "gone/t.json", {1, 2}, true);
            }),
            "check the spelling"));
  CHECK_NOTHROW(recorder(folder / "gone/t.json", {1, 2}, false));
  std::string const older = std::string(weft::profiling::trace_opening) + "}}";
  weft_test::put(folder / "t.json", older);
  { recorder const unused(folder / "t.json", {1, 2}, true); }
  CHECK(weft_test::get(folder / "t.json") == older);
  // What is no trace is never replaced by one.
  weft_test::put(folder / "text.json", "what was learnt");
  for (std::string const name : {"text.json", "losses.csv", "config.json", "model.safetensors"}) {
    CAPTURE(name);
    CHECK(has(weft_test::message_of<weft::error>([&] {
                recorder(folder / name, {1, 2}, true);
              }),
              "choose another path for --trace"));
  }
  CHECK(weft_test::get(folder / "text.json") == "what was learnt");
  CHECK_FALSE(weft_test::fs::exists(folder / "t.json.partial"));
}
