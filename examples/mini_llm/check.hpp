// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "options.hpp"
#include "schedule_table.hpp"
#include "windows.hpp"

#include <string>
#include <vector>

namespace mini_llm {

/// What the options have to fit. Known from the preset alone.
struct model_facts {
  int blocks = 0;
  int channels = 0;
  int heads = 0;
  int positions = 0;  ///< longest sequence the model can have
  int vocabulary = 256;
  double norm_epsilon = 1e-5;
  bool is_llama = false;  ///< else GPT-2
  bool has_dropout = true;
  int kv_heads = 0;  ///< of a Llama, like the two below
  int hidden = 0;
  int theta = 0;

  /// What a partition counts: the embedding, the blocks, the head.
  [[nodiscard]] int layers() const { return blocks + 2; }
};

/// All ranks: those that were launched, or the threads of the in-process transport.
int world_ranks(options const& chosen, int launched);

/// Layers per rank, as even as can be: an example of what `--partition` could say.
std::string possible_partition(int layers, int ranks);

/// Why the in-process transport cannot be had: it needs one process.
std::string threads_in_processes(int launched);

/// Why `--channels` or `--door nccl` cannot be had over threads; empty: nobody asks for it. Asked before doors are
/// built: a channel is a communicator of MPI, which threads would make side by side, and a vendor's library wants a
/// device of each rank's own.
std::string doors_of_threads(options const& chosen);

/// Impossible combinations: a sentence each, "what is wrong; what is possible". Empty: all is well. Does not
/// communicate; the same on every rank. Ranges of single options were checked when they were read.
std::vector<std::string> check(options const& chosen, int launched, model_facts const& model);

}  // namespace mini_llm
