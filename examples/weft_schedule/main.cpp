// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// weft-schedule: the schedules of the field as tables, pictures and prices, and a checker of tables; needs no Kokkos
// and no MPI. See docs/weft_schedule.md. Exit status: 0; 1: a table is not legal; 2: everything else that is wrong.

#include "check.hpp"
#include "compare.hpp"
#include "list.hpp"
#include "request.hpp"
#include "show.hpp"
#include "time.hpp"

#include <weft/config.hpp>
#include <weft/error.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <new>
#include <string>

namespace {

using weft_schedule::request;

void add_size(CLI::App& command, request& asked) {
  command.add_option("-p,--ranks", asked.ranks, "ranks of the pipeline")->required();
  command.add_option("-m,--micro-batches", asked.micro_batches, "micro-batches of a step")->required();
  command.add_option("--chunks", asked.shape.chunks, "stages per rank");
  command.add_option("--group", asked.shape.group, "micro-batches that run through one chunk before the next");
  command.add_option("--waves", asked.shape.waves, "waves (Hanayo)");
  command.add_option("--steps", asked.shape.steps, "optimizer steps in the table of an asynchronous schedule");
  command.add_option("--replicas", asked.replicas, "ranks of each stage, for replicated stages: 2,1,1")->delimiter(',');
  command.add_option("--steps-before", asked.shape.steps_before,
                     "asynchronous: steps before the table whose weights it reads");
}

void add_costs(CLI::App& command, request& asked) {
  auto& costs = asked.costs;
  command.add_option("--forward", costs.forward, "duration of F of one stage, in any unit");
  command.add_option("--input-gradient", costs.input_gradient, "duration of I; B takes I + W");
  command.add_option("--weight-gradient", costs.weight_gradient, "duration of W");
  command.add_option("--hop", costs.hop, "from the end of a pass to the arrival of its message");
  command.add_option("--per-stage", costs.per_stage, "file: a line forward,input gradient,weight gradient per stage");
  command.add_flag("--per-rank", costs.per_rank, "durations are of all stages of a rank together");
}

void note_costs(CLI::App const& command, request& asked) {
  for (char const* name : {"--forward", "--input-gradient", "--weight-gradient", "--hop", "--per-stage"})
    if (command.count(name) > 0) asked.costs.given = true;
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& letter : text)
    if (letter == '\n') letter = ';';
  return text;
}

int run(int argc, char** argv) {
  request asked;
  CLI::App app("Pipeline schedules as tables, pictures and prices", "weft-schedule");
  app.set_version_flag("--version", std::string("weft-schedule ") + std::to_string(WEFT_VERSION_MAJOR) + '.' +
                                        std::to_string(WEFT_VERSION_MINOR) + '.' + std::to_string(WEFT_VERSION_PATCH));
  app.require_subcommand(1);

  CLI::App& list = *app.add_subcommand("list", "every schedule with its rule, formulas and paper");
  list.add_option("--format", asked.format, "text or json");

  CLI::App& show = *app.add_subcommand("show", "a schedule's table");
  show.add_option("name", asked.name, "a schedule of `list`")->required();
  add_size(show, asked);
  show.add_option("--limit", asked.shape.memory_limit, "activations that a rank may keep, for schedules that search");
  add_costs(show, asked);
  show.add_option("--format", asked.format, "text, csv, svg, trace or json");
  show.add_flag("--lower", asked.lower, "with sends and receives");
  show.add_flag("--strict-pytorch", asked.strict_pytorch, "csv: refuse what PyTorch's tables have no room for");
  show.add_option("--color", asked.color, "text: auto, always or never");
  show.add_option("--width", asked.width, "text: characters of a line")->check(CLI::Range(20, 10000));

  CLI::App& time = *app.add_subcommand("time", "what a schedule costs, as JSON");
  time.add_option("name", asked.name, "a schedule of `list`")->required();
  add_size(time, asked);
  time.add_option("--limit", asked.shape.memory_limit, "activations that a rank may keep, for schedules that search");
  add_costs(time, asked);

  CLI::App& check = *app.add_subcommand("check", "whether a table is legal");
  check.add_option("file", asked.file, "a table, as show --format csv writes it; - for standard input")->required();
  check.add_option("--sends", asked.sends, "buffered, rendezvous, in-issue-order or blocking");
  check.add_flag("--old-letters", asked.old_letters, "B is the input gradient, BW the whole backward");
  check.add_option("--copies", asked.copies, "copies of the model: 1 or 2")->check(CLI::Range(1, 2));

  CLI::App& compare = *app.add_subcommand("compare", "all schedules, ranked");
  add_size(compare, asked);
  compare.add_option("--memory", asked.memory, "micro-batches whose activations a rank may keep");
  compare.add_option("--copies", asked.weight_copies, "copies of the weights that fit")->check(CLI::Range(1, 2));
  add_costs(compare, asked);
  compare.add_option("--format", asked.format, "text or json");

  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const& help) {
    return app.exit(help);
  } catch (CLI::CallForVersion const& version) {
    return app.exit(version);
  } catch (CLI::ParseError const& problem) {
    std::fprintf(stderr, "weft-schedule: %s; see weft-schedule --help\n",
                 weft_schedule::printable(one_line(problem.what()), 300).c_str());
    return 2;
  }
  for (CLI::App const* const each : {&show, &time, &compare})
    if (each->parsed()) note_costs(*each, asked);
  if (!asked.replicas.empty()) {
    asked.shape.replicas = asked.replicas.data();
    asked.shape.replicated_stages = static_cast<int>(asked.replicas.size());
  }

  if (check.parsed()) return weft_schedule::check(asked);
  std::string const text = list.parsed()   ? weft_schedule::list_text(asked.format)
                           : show.parsed() ? weft_schedule::show_text(asked)
                           : time.parsed() ? weft_schedule::time_text(asked)
                                           : weft_schedule::compare_text(asked);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int status = 2;
  try {
    status = run(argc, argv);
  } catch (std::bad_alloc const&) {
    std::fprintf(stderr, "weft-schedule: there is not enough memory for so many; use fewer\n");
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "weft-schedule: %s\n", one_line(problem.what()).c_str());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "weft-schedule: standard output could not be written; free some space, or mend the pipe\n");
    return 2;
  }
  return status;
}
