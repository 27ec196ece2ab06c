// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line.hpp"

#include "config_reader.hpp"
#include "schedule_table.hpp"
#include "windows.hpp"

#include <weft/collective/all_reduce.hpp>
#include <weft/schedule/registry.hpp>
#include <weft/train/clip_policy.hpp>

#include <weft/config.hpp>
#include <weft/error.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mini_llm {

namespace {

[[noreturn]] void refuse_value(std::string const& name, std::string const& text, std::string const& legal) {
  throw weft::error("mini_llm::options: " + name + " " + (text.empty() ? "\"\"" : text) + " is not possible; " + legal);
}

template <class Integer>
Integer whole_number(std::string const& name, std::string const& text, Integer lowest, Integer highest) {
  Integer value{};
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value < lowest || value > highest)
    refuse_value(name, text,
                 "whole numbers from " + std::to_string(lowest) + " to " + std::to_string(highest) + " are legal");
  return value;
}

/// `open`: the lowest (highest) value itself is not legal.
struct real_range {
  double lowest;
  double highest;
  bool lowest_open = false;
  bool highest_open = false;
};

double real_number(std::string const& name, std::string const& text, real_range range) {
  char* end = nullptr;
  double const value = std::strtod(text.c_str(), &end);
  bool const inside = (range.lowest_open ? value > range.lowest : value >= range.lowest) &&
                      (range.highest_open ? value < range.highest : value <= range.highest);
  if (text.empty() || end != text.c_str() + text.size() || !inside) {  // NaN is not inside
    std::ostringstream legal;
    legal << "numbers " << (range.lowest_open ? "above " : "from ") << range.lowest
          << (range.highest_open ? " to less than " : " to ") << range.highest << " are legal";
    refuse_value(name, text, legal.str());
  }
  return value;
}

/// Without case and punctuation: "ZB_H1" is "zb-h1".
std::string loosely(std::string const& text) {
  std::string result;
  for (char const letter : text)
    if (letter != '-' && letter != '_') result += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

template <class Kind, std::size_t Count>
Kind one_of(std::string const& name, std::string const& text, char const* const (&names)[Count]) {
  std::string legal;
  for (std::size_t index = 0; index < Count; ++index) {
    if (loosely(text) == loosely(names[index])) return static_cast<Kind>(index);
    legal += (index == 0 ? "" : index + 1 == Count ? " or " : ", ") + std::string(names[index]);
  }
  refuse_value(name, text, legal + " is legal");
}

/// "2,3,2", as one text or as several.
std::vector<int> layer_list(std::string const& name, std::vector<std::string> const& texts) {
  std::string joined;
  for (std::string const& text : texts) joined += (joined.empty() ? "" : ",") + text;
  if (joined == "auto") return {};
  std::vector<int> layers;
  for (std::size_t begin = 0; begin <= joined.size();) {
    std::size_t const end = std::min(joined.find(',', begin), joined.size());
    int value = -1;
    auto const [stop, problem] = std::from_chars(joined.data() + begin, joined.data() + end, value);
    if (problem != std::errc() || stop != joined.data() + end || value < 0 || value > 100000)
      refuse_value(name, joined, "auto, or layers per rank with commas between them (2,3,2) is legal");
    layers.push_back(value);
    begin = end + 1;
  }
  return layers;
}

/// "1,0.75,1", as one text or as several; "equal" or "measure".
void set_speeds(options& chosen, std::vector<std::string> const& texts) {
  std::string joined;
  for (std::string const& text : texts) joined += (joined.empty() ? "" : ",") + text;
  chosen.speeds.clear();
  chosen.measure_speeds = joined == "measure";
  if (joined == "equal" || joined == "measure") return;
  for (std::size_t begin = 0; begin <= joined.size();) {
    std::size_t const end = std::min(joined.find(',', begin), joined.size());
    double value = 0.0;
    auto const [stop, problem] = std::from_chars(joined.data() + begin, joined.data() + end, value);
    if (problem != std::errc() || stop != joined.data() + end || !(value > 0.0) || value > 1e15)
      refuse_value("--speeds", joined, "equal, measure, or a number above 0 for each pipeline rank (1,0.75) is legal");
    chosen.speeds.push_back(value);
    begin = end + 1;
  }
}

/// "3:5", or "4" for one step.
void step_numbers(std::string const& name, std::string const& text, std::int64_t& first, std::int64_t& last) {
  std::size_t const colon = text.find(':');
  auto const number = [&](std::string const& part) {
    std::int64_t value = 0;
    auto const [end, problem] = std::from_chars(part.data(), part.data() + part.size(), value);
    bool const whole = problem == std::errc() && end == part.data() + part.size();
    return whole && value >= 1 && value <= 1'000'000'000 ? value : std::int64_t{0};
  };
  first = number(text.substr(0, colon));
  last = colon == std::string::npos ? first : number(text.substr(colon + 1));
  if (first < 1 || last < first) refuse_value(name, text, "steps from 1 on, as A:B with A not above B, are legal");
}

/// Insertions, deletions and replacements that turn one word into the other.
std::size_t edit_distance(std::string const& from, std::string const& into) {
  std::vector<std::size_t> row(into.size() + 1);
  for (std::size_t column = 0; column <= into.size(); ++column) row[column] = column;
  for (std::size_t line = 1; line <= from.size(); ++line) {
    std::size_t diagonal = std::exchange(row[0], line);
    for (std::size_t column = 1; column <= into.size(); ++column) {
      std::size_t const replaced = diagonal + (from[line - 1] == into[column - 1] ? 0 : 1);
      diagonal = row[column];
      row[column] = std::min({row[column] + 1, row[column - 1] + 1, replaced});
    }
  }
  return row.back();
}

/// Connects an app's options with the members of `options`.
class option_table {
 public:
  option_table(CLI::App& app, options& chosen) : app_(app), chosen_(chosen) {}

  void group(std::string name) { group_ = std::move(name); }

  template <class Integer>
  void whole(std::string const& name, Integer options::*member, Integer lowest, Integer highest,
             std::string const& help) {
    Integer& target = chosen_.*member;
    std::string const initial = std::to_string(target);
    add(name, "N", initial, help, [&target, name, lowest, highest](std::string const& text) {
      target = whole_number(name, text, lowest, highest);
    });
  }

  void real(std::string const& name, double options::*member, real_range range, std::string const& help) {
    double& target = chosen_.*member;
    std::ostringstream initial;
    initial << target;
    add(name, "X", initial.str(), help,
        [&target, name, range](std::string const& text) { target = real_number(name, text, range); });
  }

  template <class Kind, std::size_t Count>
  void choice(std::string const& name, Kind options::*member, char const* const (&names)[Count],
              std::string const& help) {
    Kind& target = chosen_.*member;
    std::string type;
    for (char const* const one : names) type += (type.empty() ? "" : "|") + std::string(one);
    add(name, type, names[static_cast<std::size_t>(target)], help,
        [&target, &names, name](std::string const& text) { target = one_of<Kind>(name, text, names); });
  }

  void text(std::string const& name, std::string options::*member, std::string const& type, std::string const& initial,
            std::string const& help) {
    std::string& target = chosen_.*member;
    add(name, type, initial, help, [&target](std::string const& value) { target = value; });
  }

  [[nodiscard]] std::string nearest(std::string const& unknown) const {
    std::string best;
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (CLI::Option const* const option : app_.get_options()) {
      std::string const name = "--" + option->get_single_name();
      std::size_t const distance = edit_distance(unknown, name);
      if (distance < least) best = name;
      least = std::min(least, distance);
    }
    return least <= std::max<std::size_t>(2, unknown.size() / 3) ? best : std::string();
  }

  template <class Setter>
  CLI::Option* add(std::string const& name, std::string const& type, std::string const& initial,
                   std::string const& help, Setter setter) {
    // Given twice, the last one counts: what a script says can be overruled behind it.
    return app_.add_option_function<std::string>(name, setter, help)
        ->type_name(type)
        ->default_str(initial)
        ->group(group_)
        ->take_last();
  }

  [[nodiscard]] std::string const& group() const { return group_; }

 private:
  CLI::App& app_;
  options& chosen_;
  std::string group_;
};

/// The registry's name for what was asked for; what is for evaluation alone is no schedule to train under.
std::string schedule_name(std::string const& text) {
  auto const* const found = weft::schedule::find_schedule(text);
  if (found == nullptr || found->name == std::string(weft::schedule::forward_only::name))
    refuse_value("--schedule", text, weft::schedule::schedule_names() + " are known");
  return found->name;
}

/// A name, or a table in a file whose name ends in .csv.
void set_schedule(options& chosen, std::string const& text) {
  if (text.size() > 4 && text.ends_with(".csv")) {
    chosen.table = read_table_text(text);
    chosen.schedule = text;
  } else {
    chosen.schedule = schedule_name(text);
    chosen.table.clear();
  }
}

void add_options(CLI::App& app, option_table& table, options& chosen) {
  constexpr int many = 1'000'000'000;

  table.group("Data and model");
  table.text("--data", &options::data, "FILE|DIR", "licence texts",
             "What to learn: a text or a file of tokens, or a folder of\nsuch. The last tenth is kept for validation");
  table.choice("--data-format", &options::format, data_format_names,
               "auto: tokens where llm.c's magic number is, else text");
  table.choice("--preset", &options::preset, preset_names, "Size of the model");
  table.text("--init", &options::init, "FILE", "",
             "Start from the weights of a .safetensors file, with\nHugging Face's names for this model");
  table.real("--dropout", &options::dropout, {0.0, 1.0, false, true}, "Share of activations dropped in training");

  table.group("Plan");
  table.add("--schedule", "NAME|FILE.csv", chosen.schedule,
            "Order of the passes of a pipeline: serial, gpipe,\n1f1b, interleaved, zb-h1, zbv, ... "
            "(docs/schedules.md),\nor a table of your own, as weft-schedule writes it",
            [&chosen](std::string const& text) { set_schedule(chosen, text); });
  table.whole("--replay", &options::replay, 0, 1024,
              "One rank adds up gradients in the order that\n--schedule has on N ranks: gets its bits");
  for (auto const& [name, member, help] :
       {std::tuple{"--chunks", &weft::schedule::shape::chunks,
                   "Stages per rank, for schedules with several; 0: its own"},
        std::tuple{"--chunk-group", &weft::schedule::shape::group, "Micro-batches of a chunk in a row (interleaved)"},
        std::tuple{"--waves", &weft::schedule::shape::waves, "How often stages go down and up the ranks (wave)"},
        std::tuple{"--keep", &weft::schedule::shape::memory_limit,
                   "Micro-batches a rank may keep (zb-auto and the like)"}})
    table.add(name, "N", "0", help,
              [&value = chosen.shape.*member, option = std::string(name)](std::string const& text) {
                value = whole_number(option, text, 0, 4096);
              });
  table.whole("--micro-batches", &options::micro_batches, 1, 65536,
              "Pieces that a batch (with --data-ranks: each\npipeline's part of it) is cut into");
  table.whole("--data-ranks", &options::data_ranks, 1, 1024,
              "Pipelines that share every batch; each has its part\nof the ranks");
  table.add(
      "--reduce", "NAME", chosen.reduce,
      "How pipelines sum their gradients: ring,\nrecursive-doubling, recursive-halving, tree,\nhierarchical[:N] or "
      "mpi; with --door nccl also nccl,\nand hierarchical:nccl (nccl within each vendor)",
      [&chosen](std::string const& text) { chosen.reduce = weft::collective::all_reduce_choice(text).name(); });
  table.whole("--gradient-groups", &options::gradient_groups, 1, 1024,
              "On one pipeline: get the bits of that many data ranks");
  table.whole("--window", &options::window, 1, 1000,
              "Of pipedream, pipedream-2bw and --post-validation:\nsteps without a meeting of all ranks, at "
              "most;\nchanges no bit");
  app.add_flag("--post-validation", chosen.post_validation,
               "No rank waits for the others before its optimizer\nstep; what was wrong is undone; changes no bit")
      ->group(table.group());
  table.add("--clip-policy", "NAME", chosen.clip_policy,
            "Of the same: clip by the norm of each stage\n(per-stage), or of all some steps before\n(delayed-norm)",
            [&chosen](std::string const& text) {
              chosen.clip_policy = weft::train::to_text(weft::train::clip_policy_of(text));
            });
  app.add_option_function<std::vector<std::string>>(
         "--partition",
         [&chosen](std::vector<std::string> const& texts) { chosen.partition = layer_list("--partition", texts); },
         "Layers per rank (embedding, blocks, head), as 3,2,3;\nauto: even by cost")
      ->type_name("LIST|auto")
      ->default_str("auto")
      ->group(table.group());
  app.add_option_function<std::vector<std::string>>(
         "--speeds", [&chosen](std::vector<std::string> const& texts) { set_speeds(chosen, texts); },
         "How fast the ranks of a pipeline are, as 1,0.75, to\ndivide layers by; measure: by a short timing")
      ->type_name("LIST|measure|equal")
      ->default_str("equal")
      ->group(table.group());
  table.choice("--recompute", &options::recompute, recompute_names,
               "Compute activations twice instead of keeping them");
  table.choice("--transport", &options::transport, transport_names, "Ranks are processes (mpiexec) or threads");
  table.choice("--door", &options::door, door_names,
               "How boundaries go: through a copy on the host,\nchunk by chunk, as they are, the quickest of both, "
               "or\nby the library of the devices' vendor");
  table.add("--chunk-bytes", "N", std::to_string(chosen.chunk_bytes), "Of staged boundaries: a multiple of 64",
            [&chosen](std::string const& text) {
              chosen.chunk_bytes = whole_number("--chunk-bytes", text, 1024, 1 << 30);
              if (chosen.chunk_bytes % 64 != 0) refuse_value("--chunk-bytes", text, "a multiple of 64 is legal");
            });
  table.whole("--channels", &options::channels, 1, 16, "Communicators that staged boundaries take in turns");
  table.add("--ranks", "N", "1", "Threads of --transport in-process",
            [&chosen](std::string const& text) { chosen.ranks = whole_number("--ranks", text, 1, 1024); });
  app.add_flag("--mixed", chosen.mixed,
               "Ranks may be of several builds, and on devices of\ntwo vendors; low bits then depend on which")
      ->group(table.group());
  app.add_flag("--plan", chosen.plan, "Print plan, proof and a picture of the timeline; do not train")
      ->group(table.group());
  table.real("--timeout", &options::timeout_seconds, {0.0, 86400.0, true, false},
             "Seconds a rank waits for another before the run ends\nwith what each one waited for");

  table.group("Training");
  table.whole("--batch", &options::batch, 1, 1'000'000, "Sequences per step");
  table.whole("--seq", &options::sequence_length, 1, 1'000'000, "Tokens per sequence (of a text: bytes)");
  table.whole("--steps", &options::steps, std::int64_t{0}, std::int64_t{many}, "Steps of the optimizer");
  table.real("--lr", &options::learning_rate, {0.0, 10.0, true, false}, "Highest learning rate (AdamW)");
  table.whole("--warmup", &options::warmup, std::int64_t{0}, std::int64_t{many},
              "Steps of linear warm-up; a cosine follows");
  table.real("--weight-decay", &options::weight_decay, {0.0, 10.0}, "Decoupled; not on norms and biases");
  table.real("--clip", &options::clip, {0.0, 1e9}, "Largest global norm of the gradient; 0: do not clip");
  table.choice(
      "--precision", &options::precision, precision_names,
      "Of activations; sums and weights are floats. tf32: of\nproducts on devices. bf16 and fp16 are programs of\n"
      "their own, mini_llm_bf16 and mini_llm_fp16");
  app.add_flag("--capture", chosen.capture,
               "Devices record each stage's calls once and replay them\n(CUDA and HIP graphs); the bits are the same")
      ->group(table.group());
  table.whole("--seed", &options::seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
              "Of weights, windows, dropout and sample");

  table.group("Reports and files");
  table.text("--out", &options::out, "DIR", chosen.out, "Folder for losses, weights, checkpoints and settings");
  table.whole("--log-every", &options::log_every, 1, many, "Steps between lines (not on a terminal)");
  table.whole("--eval-every", &options::eval_every, 0, many, "Steps between validations; 0: at the end only");
  table.whole("--eval-batches", &options::eval_batches, 0, many,
              "Batches per validation; 0: all of the validation part");
  table.whole("--save-every", &options::save_every, 0, many, "Steps between checkpoints; 0: none");
  table
      .add("--resume", "FILE|latest|auto", "latest",
           "Go on from a checkpoint; alone: the newest in --out;\nauto: that one, or a first start where there is none",
           [&chosen](std::string const& text) { chosen.resume = text.empty() ? "latest" : text; })
      ->expected(0, 1);

  table.text("--trace", &options::trace, "FILE", "",
             "Timeline of a few steps, planned and measured, for\nui.perfetto.dev");
  table.add("--trace-steps", "A:B", "3:5 of the run", "Steps of --trace", [&chosen](std::string const& text) {
    step_numbers("--trace-steps", text, chosen.trace_first, chosen.trace_last);
  });

  table.group("Sample");
  table.whole("--sample-bytes", &options::sample_bytes, 0, 1'000'000, "Bytes to write after the training; 0: none");
  table.text("--prompt", &options::prompt, "TEXT", "\"" + chosen.prompt + "\"", "Text that the sample continues");
  table.real("--temperature", &options::temperature, {0.0, 100.0}, "0: always the likeliest byte");
  table.whole("--top-k", &options::top_k, 0, 256, "Choose among the k likeliest bytes; 0: among all");
}

constexpr char const* help_footer =
    R"(Losses are in nats per byte (of token files: per token). The run prints beside them the
bigram entropy of the validation part: H(next | previous) = - sum over pairs (a, b) of
p(a, b) ln p(b | a), with the pairs counted in that part itself (of token files: the entropy
of single tokens). No model that sees one byte back can do better.

Examples
  mini_llm --plan --schedule gpipe
  mpiexec -n 2 mini_llm --data my_texts --steps 500 --out run --save-every 100
  mpiexec -n 3 mini_llm --config run/config-run.json --resume)";

}  // namespace

command_line parse_command_line(std::vector<std::string> arguments) {
  command_line result;
  CLI::App app("Trains a GPT-2 or a Llama on a text, over pipeline ranks, with weft.", "mini_llm");
  option_table table(app, result.chosen);
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version",
                       "mini_llm of weft " + std::to_string(weft::version.major) + "." +
                           std::to_string(weft::version.minor) + "." + std::to_string(weft::version.patch),
                       "Print the version");
  app.config_formatter(std::make_shared<config_reader>());
  app.set_config("--config", "", "Settings: TOML, or a config-run.json; the command line wins")
      ->type_name("FILE")
      ->group("Options");
  add_options(app, table, result.chosen);
  app.footer(help_footer);
  app.get_formatter()->column_width(34);
  app.allow_extras();
  app.allow_config_extras(CLI::config_extras_mode::capture);
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    if (arguments[at] == "--config" && at + 1 < arguments.size()) config_reader::require_readable(arguments[at + 1]);
    if (arguments[at].starts_with("--config=")) config_reader::require_readable(arguments[at].substr(9));
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (CLI::CallForHelp const&) {
    result.message = app.help();
    return result;
  } catch (CLI::CallForVersion const& version) {
    result.message = std::string(version.what()) + "\n";
    return result;
  } catch (CLI::FileError const& problem) {
    throw weft::error("mini_llm::options: --config: " + std::string(problem.what()) + "; name a file that can be read");
  } catch (CLI::ParseError const& problem) {
    throw weft::error("mini_llm::options: " + std::string(problem.what()) +
                      "; --help lists all options and what they take");
  }
  std::vector<std::string> const unknown = app.remaining();
  if (!unknown.empty()) {
    std::string const& first = unknown.front();
    std::string const near = table.nearest(first.starts_with("-") ? first.substr(0, first.find('=')) : "--" + first);
    throw weft::error("mini_llm::options: there is no option " + first + "; " +
                      (near.empty() ? "--help lists all options" : "did you mean " + near + "? (--help lists all)"));
  }
  // A table has its own number.
  if (!result.chosen.table.empty() && app.get_option("--micro-batches")->count() == 0)
    result.chosen.micro_batches =
        (std::max)(1, table_of(result.chosen, 0).view().micro_batches / result.chosen.gradient_groups);
  // PipeDream steps after every micro-batch.
  if (is_asynchronous(result.chosen) && result.chosen.schedule != weft::schedule::pipedream_2bw_values::name &&
      app.get_option("--micro-batches")->count() == 0)
    result.chosen.micro_batches = 1;
  // The default warm-up is for runs of the default length; a short one is warm sooner.
  if (app.get_option("--warmup")->count() == 0)
    result.chosen.warmup = (std::min)(result.chosen.warmup, result.chosen.steps / 10);
  return result;
}

command_line parse_command_line(int argc, char const* const* argv) {
  return parse_command_line(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}

}  // namespace mini_llm
