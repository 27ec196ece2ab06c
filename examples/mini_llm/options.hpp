// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/schedule/shape.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

/// @file
/// Everything that can be asked of mini_llm. `command_line.hpp` fills it, `check.hpp` says what of it is impossible.

namespace mini_llm {

enum class preset_kind { nano, small, gpt2_124m, llama_nano, llama_160m };
enum class data_format { automatic, text, llmc, uint16 };
enum class recompute_kind { none, full };
enum class precision_kind { automatic, fp32, tf32, bf16, fp16 };
enum class transport_kind { mpi, in_process };
enum class door_kind { plain, staged, device_aware, automatic, nccl };

inline constexpr char const* preset_names[] = {"nano", "small", "gpt2-124m", "llama-nano", "llama-160m"};
inline constexpr char const* data_format_names[] = {"auto", "text", "llmc", "uint16"};
inline constexpr char const* recompute_names[] = {"none", "full"};
inline constexpr char const* precision_names[] = {"auto", "fp32", "tf32", "bf16", "fp16"};
inline constexpr char const* transport_names[] = {"mpi", "in-process"};
inline constexpr char const* door_names[] = {"plain", "staged", "device-aware", "automatic", "nccl"};

inline char const* to_text(preset_kind kind) { return preset_names[static_cast<int>(kind)]; }
inline char const* to_text(data_format kind) { return data_format_names[static_cast<int>(kind)]; }
inline char const* to_text(recompute_kind kind) { return recompute_names[static_cast<int>(kind)]; }
inline char const* to_text(precision_kind kind) { return precision_names[static_cast<int>(kind)]; }
inline char const* to_text(transport_kind kind) { return transport_names[static_cast<int>(kind)]; }
inline char const* to_text(door_kind kind) { return door_names[static_cast<int>(kind)]; }

struct options {
  // Data and model
  std::string data;  ///< empty: the default text
  data_format format = data_format::automatic;
  preset_kind preset = preset_kind::nano;
  std::string init;  ///< safetensors file to start from; empty: random weights
  double dropout = 0.0;

  // Plan
  std::string schedule = "1f1b";  ///< a name of weft/schedule/registry.hpp, or a file that holds a table
  std::string table;              ///< what that file holds; empty: `schedule` is a name
  int replay = 0;                 ///< one rank adds gradients in the order of `schedule` on so many; 0: not asked for
  weft::schedule::shape shape{};  ///< what the schedule is told beside ranks and micro-batches
  int micro_batches = 4;          ///< of each pipeline
  int data_ranks = 1;             ///< pipelines that share a batch
  std::string reduce = "ring";    ///< how their gradients are summed
  int gradient_groups = 1;        ///< on one pipeline: sums apart, as that many would have them
  std::vector<int> partition;     ///< layers per rank; empty: automatic, by cost
  std::vector<double> speeds;     ///< of pipeline ranks, to divide layers by; empty: all are equally fast
  bool measure_speeds = false;    ///< by timing a block on every rank at the start
  int window = 100;               ///< of an asynchronous schedule: steps between two meetings of all ranks, at most
  std::string clip_policy = "per-stage";  ///< of an asynchronous schedule: by which norm gradients are clipped
  recompute_kind recompute = recompute_kind::none;
  bool post_validation = false;  ///< ranks step before they know the norm of all gradients, and undo what was wrong
  transport_kind transport = transport_kind::mpi;
  door_kind door = door_kind::plain;  ///< how boundaries get from one memory to another (docs/transports.md)
  int chunk_bytes = 1 << 19;          ///< of staged ones
  int channels = 1;                   ///< communicators they go over in turns
  int ranks = 0;                      ///< threads of the in-process transport; 0: not given
  bool plan = false;                  ///< print the plan and stop
  bool mixed = false;  ///< ranks of several builds, and on devices of several vendors, may train together
  double timeout_seconds = 60.0;

  // Training
  int batch = 8;  ///< sequences per step, over all micro-batches
  int sequence_length = 128;
  std::int64_t steps = 1200;
  double learning_rate = 3e-3;
  std::int64_t warmup = 60;
  double weight_decay = 0.1;
  double clip = 1.0;                                     ///< 0: off
  bool capture = false;                                  ///< devices replay recorded calls
  precision_kind precision = precision_kind::automatic;  ///< of one program each (numbers.hpp), fp32 and tf32 apart
  std::uint64_t seed = 1;

  // Reports and files
  std::string out = "mini_llm-out";
  int log_every = 100;
  int eval_every = 400;               ///< 0: at the end only
  int eval_batches = 8;               ///< 0: all of the validation part
  int save_every = 0;                 ///< 0: never
  std::optional<std::string> resume;  ///< a file, "latest", or "auto": the latest if there is one
  std::string trace;                  ///< file for a timeline of a few steps; empty: none
  std::int64_t trace_first = 0;       ///< first step of it; 0: the run's third
  std::int64_t trace_last = 0;

  // Sample
  int sample_bytes = 400;
  std::string prompt = "The ";
  double temperature = 0.8;
  int top_k = 40;  ///< 0: all 256
};

/// Parts of a batch whose gradients are summed apart, and then with each other.
int groups_of(options const& chosen);

std::string partition_text(std::vector<int> const& partition);

/// "1,0.75"; "measure" before that was done.
std::string speeds_text(options const& chosen);

/// "3:5"; "default" where not given.
std::string trace_steps_text(options const& chosen);

/// All options under their names on the command line, as `--config` reads them again.
nlohmann::ordered_json to_json(options const& chosen);

/// What decides the numbers of a training, whatever the schedule, the partition and the number of ranks: stored in
/// checkpoints, compared on a resume. Each of `copies` of the model in one pipeline has a gradient group of its own.
nlohmann::json resume_configuration(options const& chosen, int copies = 1);

}  // namespace mini_llm
