// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check.hpp"

#include <weft/collective/all_reduce.hpp>
#include <weft/schedule/registry.hpp>
#include <weft/schedule/words.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace mini_llm {

int world_ranks(options const& chosen, int launched) {
  return chosen.transport == transport_kind::in_process ? std::max(chosen.ranks, 1) : launched;
}

std::string possible_partition(int layers, int ranks) {
  std::vector<int> even;
  for (int rank = 0; rank < ranks; ++rank) even.push_back(layers / ranks + (rank < layers % ranks ? 1 : 0));
  return partition_text(even);
}

std::string threads_in_processes(int launched) {
  std::string const count = std::to_string(launched);
  return "--transport in-process runs its ranks as threads of one process, but " + count +
         " processes were launched; start one process, and say --ranks " + count;
}

std::string doors_of_threads(options const& chosen) {
  if (chosen.transport != transport_kind::in_process) return {};
  if (chosen.door == door_kind::nccl)
    return "--door nccl wants a device for each rank, and those of --transport in-process share one; start the ranks "
           "by mpiexec, or leave it away";
  if (chosen.channels == 1) return {};
  return "--channels " + std::to_string(chosen.channels) +
         " are communicators of MPI, and --transport in-process has one; leave it away";
}

std::vector<std::string> check(options const& chosen, int launched, model_facts const& model) {
  std::vector<std::string> problems;
  auto const text = [](std::int64_t number) { return std::to_string(number); };
  int const world = world_ranks(chosen, launched);
  int const ranks = std::max(world / chosen.data_ranks, 1);  // of one pipeline
  int const groups = groups_of(chosen);

  if (chosen.transport == transport_kind::in_process && launched > 1)
    problems.push_back(threads_in_processes(launched));
  if (chosen.transport == transport_kind::mpi && chosen.ranks != 0 && chosen.ranks != launched)
    problems.push_back("--ranks " + text(chosen.ranks) + " asks for threads, but --transport mpi takes the " +
                       text(launched) + " that were launched; use mpiexec -n " + text(chosen.ranks) +
                       ", or --transport in-process");
  if (auto const why = doors_of_threads(chosen); !why.empty()) problems.push_back(why);
  int stages = ranks;
  int copies = 1;
  int const micro_batches = chosen.micro_batches * chosen.gradient_groups;
  int const scheduled = chosen.replay > 0 ? chosen.replay : ranks;
  if (chosen.replay > 0 && ranks != 1)
    problems.push_back("--replay " + text(chosen.replay) + " is for one rank, and there are " + text(ranks) +
                       "; start one, or leave it away");
  bool is_legal = true;
  if (is_asynchronous(chosen)) {
    bool const steps_at_once = chosen.schedule != weft::schedule::pipedream_2bw_values::name;
    is_legal = !steps_at_once || chosen.micro_batches == 1;
    if (!is_legal)
      problems.push_back("--schedule " + chosen.schedule + " steps after every micro-batch, and --micro-batches " +
                         text(chosen.micro_batches) +
                         " asks for several per step; leave that away, or choose --schedule pipedream-2bw");
    if (!steps_at_once && chosen.micro_batches < ranks - 1) {
      is_legal = false;
      problems.push_back("--schedule pipedream-2bw on " + text(ranks) + " ranks needs as many micro-batches as its " +
                         "first rank is ahead, and --micro-batches is " + text(chosen.micro_batches) +
                         "; use --micro-batches " + text(ranks - 1) + " or more");
    }
    if (chosen.data_ranks > 1 || chosen.gradient_groups > 1)
      problems.push_back("--schedule " + chosen.schedule +
                         " steps in every stage's own time, on one pipeline with one group of gradients; leave " +
                         (chosen.data_ranks > 1 ? "--data-ranks" : "--gradient-groups") + " away");
    if (chosen.replay > 0)
      problems.push_back("--replay gets the bits of a schedule with one step at its end, and --schedule " +
                         chosen.schedule + " is another training; leave --replay away");
    if (chosen.post_validation)
      problems.push_back("--post-validation is for schedules with one step at their end, and --schedule " +
                         chosen.schedule + " steps in between, and waits for no rank as it is; leave it away");
    if (!chosen.trace.empty())
      problems.push_back("--trace records single steps, which --schedule " + chosen.schedule +
                         " has not: the ranks are at several at a time; leave it away, or trace another schedule");
  } else if (has_own_table(chosen)) {
    auto const made = read_table(chosen.schedule, chosen.table);
    is_legal = made.view().ranks() == scheduled && made.view().micro_batches == micro_batches;
    if (made.view().ranks() != scheduled)
      problems.push_back("--schedule " + chosen.schedule + " is a table for " + text(made.view().ranks()) +
                         " ranks, and there are " + text(scheduled) + "; start as many" +
                         (chosen.replay > 0 ? ", or say --replay " + text(made.view().ranks()) : std::string()));
    if (made.view().micro_batches != micro_batches)
      problems.push_back("--schedule " + chosen.schedule + " is a table of " + text(made.view().micro_batches) +
                         " micro-batches, and --micro-batches " + text(chosen.micro_batches) +
                         (chosen.gradient_groups > 1 ? " in each gradient group" : "") +
                         " asks for others; leave that away");
  } else if (chosen.schedule == "serial" && ranks != 1) {
    problems.push_back("--schedule serial uses one rank, and there are " + text(ranks) +
                       "; start one, or choose --schedule gpipe, 1f1b or zb-h1");
    is_legal = false;
  } else {
    auto const& known = weft::schedule::known_schedule(chosen.schedule);
    auto const legal = known.check(chosen.shape, scheduled, micro_batches);
    is_legal = legal.legal();
    if (!is_legal)
      problems.push_back("--schedule " + chosen.schedule + ": " + weft::schedule::explain(legal, known.name));
  }
  if (is_legal) {
    auto const made = table_of(chosen, ranks);
    if (made.view().work.asynchronous && !is_asynchronous(chosen))
      problems.push_back("--schedule " + chosen.schedule +
                         " is proved and drawn, and not trained: its stages are on several ranks each; choose "
                         "--schedule pipedream or pipedream-2bw");
    stages = made.view().stages();
    copies = made.view().graph.copies;
  }
  if (copies > 1 && chosen.gradient_groups > 1)
    problems.push_back("--gradient-groups " + text(chosen.gradient_groups) + " stands for data ranks, and --schedule " +
                       chosen.schedule +
                       " keeps two copies of the model with a group of gradients each; leave it away, or ask for the "
                       "same bits with --schedule serial");
  if (copies > 1 && chosen.post_validation && chosen.data_ranks > 1)
    problems.push_back("--post-validation with --data-ranks " + text(chosen.data_ranks) + " and --schedule " +
                       chosen.schedule +
                       ", which keeps two copies of the model, is not possible; leave one of the three away");
  if (world % chosen.data_ranks != 0)
    problems.push_back("--data-ranks " + text(chosen.data_ranks) + " pipelines cannot share " + text(world) +
                       (world == 1 ? " rank" : " ranks") + "; start a multiple of " + text(chosen.data_ranks) +
                       ", or choose a divisor of " + text(world));
  if (chosen.data_ranks > 1 && chosen.gradient_groups > 1)
    problems.push_back("--gradient-groups " + text(chosen.gradient_groups) +
                       " stands for data ranks, and --data-ranks " + text(chosen.data_ranks) +
                       " has them; leave one of them away");
  if (groups * copies > 1 && chosen.reduce == "mpi" &&
      (chosen.gradient_groups > 1 || chosen.transport == transport_kind::in_process))
    problems.push_back(std::string("--reduce mpi is the MPI library's own, which ") +
                       (chosen.gradient_groups > 1 ? "says nothing of the order in which --gradient-groups must add"
                                                   : "threads of --transport in-process have no use of") +
                       "; choose another one, such as --reduce ring");
  weft::collective::all_reduce_choice const sums(chosen.reduce);
  bool const wants_vendor_library = sums.is_device_library() || sums.is_by_vendor();
  if (wants_vendor_library && chosen.gradient_groups > 1)
    problems.push_back("--reduce " + chosen.reduce +
                       " has the library of the devices' vendor, which says nothing of the order in which "
                       "--gradient-groups must add; choose another one, such as --reduce ring");
  else if (wants_vendor_library && groups * copies > 1 && chosen.door != door_kind::nccl)
    problems.push_back("--reduce " + chosen.reduce + " has the library of the devices' vendor, and --door " +
                       to_text(chosen.door) + " does not connect to it; " +
                       (chosen.transport == transport_kind::in_process ? "" : "say --door nccl, or ") +
                       "choose another one, such as --reduce ring");
  if (chosen.post_validation && chosen.door == door_kind::nccl)
    problems.push_back(
        "--post-validation takes in messages in another order than the program's where a step is undone, "
        "and --door nccl must keep that; leave one of them away");
  if (groups > 1 && chosen.micro_batches > chosen.batch / groups && chosen.micro_batches <= chosen.batch)
    problems.push_back("--batch " + text(chosen.batch) + " leaves " + text(chosen.batch / groups) +
                       " sequences to the smallest of " + text(groups) +
                       (chosen.data_ranks > 1 ? " data ranks" : " gradient groups") + ", which --micro-batches " +
                       text(chosen.micro_batches) + " cannot cut into pieces of at least one; use --batch " +
                       text(chosen.micro_batches * groups) + " or more, or fewer micro-batches");
  if (chosen.micro_batches > chosen.batch)
    problems.push_back("--micro-batches " + text(chosen.micro_batches) + " cannot cut --batch " + text(chosen.batch) +
                       " into pieces of at least one sequence; --micro-batches 1 to " + text(chosen.batch) +
                       " are possible, or --batch " + text(chosen.micro_batches) + " and more");
  if (chosen.sequence_length > model.positions)
    problems.push_back("--seq " + text(chosen.sequence_length) + " is longer than the " + text(model.positions) +
                       " positions of --preset " + to_text(chosen.preset) + "; --seq 1 to " + text(model.positions) +
                       " are possible");
  if (chosen.dropout > 0.0 && !model.has_dropout)
    problems.push_back("--preset " + std::string(to_text(chosen.preset)) +
                       " has no dropout, so --dropout asks for what it cannot do; leave it away, or choose --preset "
                       "nano, small or gpt2-124m");
  if (!chosen.partition.empty()) {
    auto const parts = static_cast<std::int64_t>(chosen.partition.size());
    std::int64_t const sum = std::accumulate(chosen.partition.begin(), chosen.partition.end(), std::int64_t{0});
    std::string const possible =
        "; --partition " + possible_partition(model.layers(), stages) + " is possible, or auto";
    if (parts != stages)
      problems.push_back("--partition " + partition_text(chosen.partition) + " is for " + text(parts) +
                         (stages == ranks ? " ranks, and there are " : " stages, and there are ") + text(stages) +
                         possible);
    if (sum != model.layers())
      problems.push_back("--partition " + partition_text(chosen.partition) + " adds up to " + text(sum) +
                         " layers; --preset " + to_text(chosen.preset) + " has " + text(model.layers()) +
                         " (embedding, " + text(model.blocks) + " blocks, head)" + possible);
  }
  if (!chosen.partition.empty() && speeds_text(chosen) != "equal")
    problems.push_back("--speeds " + speeds_text(chosen) + " and --partition " + partition_text(chosen.partition) +
                       " both divide the layers; leave one of them away");
  if (!chosen.speeds.empty() && static_cast<int>(chosen.speeds.size()) != ranks)
    problems.push_back("--speeds " + speeds_text(chosen) + " is for " +
                       text(static_cast<std::int64_t>(chosen.speeds.size())) + " ranks, and a pipeline has " +
                       text(ranks) + "; give one number for each");
  if (chosen.measure_speeds && chosen.speeds.empty() && chosen.plan)
    problems.push_back(
        "--speeds measure times the ranks of a run, and --plan starts none; give numbers, such as those that a run "
        "has printed");
  if (chosen.warmup > chosen.steps)
    problems.push_back("--warmup " + text(chosen.warmup) + " is longer than --steps " + text(chosen.steps) +
                       "; --warmup 0 to " + text(chosen.steps) + " are possible");
  if (chosen.resume && *chosen.resume != "auto" && !chosen.init.empty())
    problems.push_back("--resume brings its own weights, so --init " + chosen.init +
                       " has no place; leave one of them away, or say --resume auto, which begins with --init");
  if (chosen.sample_bytes > 0 && chosen.prompt.empty())
    problems.push_back(
        "--prompt is empty, and a text can only be continued from its last byte; give at least one byte, or "
        "--sample-bytes 0");
  return problems;
}

}  // namespace mini_llm
