// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checkpoint.hpp"

namespace mini_llm {

fs::path checkpoint_path(fs::path const& directory, std::int64_t step) {
  return directory / ("checkpoint-" + std::to_string(step) + ".safetensors");
}

std::vector<checkpoint_file> list_checkpoints(fs::path const& directory) {
  std::vector<checkpoint_file> found;
  std::error_code code;
  for (fs::directory_iterator entry(directory, code); !code && entry != fs::directory_iterator();
       entry.increment(code)) {
    std::string const name = entry->path().filename().string();
    constexpr std::string_view prefix = "checkpoint-";
    if (!name.starts_with(prefix)) continue;
    std::int64_t step = 0;
    auto const [end, problem] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), step);
    if (problem == std::errc() && step >= 0 && std::string_view(end) == ".safetensors")
      found.push_back({step, entry->path()});
  }
  if (code) fail("checkpoint", directory, "cannot be listed", code.value());
  std::sort(found.begin(), found.end(), [](auto const& left, auto const& right) { return left.step > right.step; });
  return found;
}

checkpoint_reader::checkpoint_reader(fs::path const& path, bool verify) : file_(path) {
  if (!file_.metadata().contains("weft.checkpoint") || !file_.has_checksum())
    throw weft::error("mini_llm::checkpoint: " + path.string() +
                      " holds no optimizer state; to start from its weights use --init, not --resume");
  if (file_.metadata().at("weft.checkpoint") != "1")
    throw weft::error("mini_llm::checkpoint: " + path.string() + " has the format version " +
                      file_.metadata().at("weft.checkpoint") +
                      ", this program reads version 1; use the program that wrote it");
  if (verify) file_.verify();
  facts_.step = number<std::int64_t>("weft.step");
  facts_.seed = number<std::uint64_t>("weft.seed");
  facts_.optimizer_steps = number<std::int64_t>("weft.optimizer_steps");
  facts_.sampler_cursor = number<std::uint64_t>("weft.sampler_cursor");
  facts_.data_hash = number<std::uint64_t>("weft.data_hash");
  auto const found = file_.metadata().find("weft.configuration");
  if (found != file_.metadata().end()) facts_.configuration = nlohmann::json::parse(found->second, nullptr, false);
  if (!facts_.configuration.is_object() || facts_.step < 0 || facts_.optimizer_steps < 0)
    unusable("weft.configuration");
  if (file_.metadata().contains("weft.loss_scale")) {
    facts_.loss_scale = {.scale = static_cast<double>(number<std::int64_t>("weft.loss_scale")),
                         .counted = number<std::int64_t>("weft.loss_scale_counted")};
    if (!weft::train::loss_scaling::is_scale(facts_.loss_scale->scale) || facts_.loss_scale->counted < 0)
      unusable("weft.loss_scale");
  }
  auto const carried = file_.metadata().find("weft.carried");
  if (carried == file_.metadata().end()) return;
  facts_.carried = nlohmann::json::parse(carried->second, nullptr, false);
  if (!facts_.carried.is_object() || !facts_.carried.contains("tensors") ||
      !facts_.carried["tensors"].is_number_unsigned())
    unusable("weft.carried");
}

void checkpoint_reader::unusable(std::string const& key) const {
  throw weft::error("mini_llm::checkpoint: " + path().string() + " has no usable \"" + key +
                    "\"; resume from another checkpoint");
}

void checkpoint_reader::other_model(std::string const& difference) const {
  throw weft::error("mini_llm::checkpoint: " + path().string() + " is of another model: " + difference +
                    "; resume with the --preset it was trained with (" +
                    facts_.configuration.value("preset", std::string("unknown")) + ")");
}

checkpoint_reader open_latest_checkpoint(fs::path const& directory) {
  std::vector<checkpoint_file> const files = list_checkpoints(directory);
  if (files.empty())
    throw weft::error("mini_llm::checkpoint: " + directory.string() +
                      " holds no checkpoint to resume from; leave --resume away, or name a file with --resume FILE");
  try {
    return checkpoint_reader(files.front().path);
  } catch (weft::error const& damage) {
    for (std::size_t index = 1; index < files.size(); ++index) {
      try {
        checkpoint_reader const whole(files[index].path);
      } catch (weft::error const&) {
        continue;
      }
      throw weft::error(std::string(damage.what()) + "; or go on from the older one, which is whole: --resume " +
                        files[index].path.string());
    }
    throw weft::error(std::string(damage.what()) + "; no older checkpoint in " + directory.string() +
                      " is whole: train anew without --resume");
  }
}

fs::path set_later_checkpoints_aside(out_directory& out, std::int64_t step) {
  std::vector<fs::path> later;
  for (checkpoint_file const& file : list_checkpoints(out.path()))
    if (file.step > step) later.push_back(file.path);
  return out.move_aside(later);
}

std::vector<std::string> resume_problems(checkpoint_facts const& saved, checkpoint_facts const& now,
                                         std::vector<std::string>& notes) {
  std::vector<std::string> problems;
  if (saved.seed != now.seed)
    problems.push_back("the checkpoint was trained with --seed " + std::to_string(saved.seed) + ", this run has " +
                       std::to_string(now.seed) + "; resume with --seed " + std::to_string(saved.seed));
  if (saved.data_hash != now.data_hash)
    problems.push_back(
        "the checkpoint was trained on other data; resume with the --data it was trained on, or start anew "
        "from exported weights with --init");
  for (char const* const key : {"preset", "batch", "micro-batches", "seq"}) {
    auto const before = saved.configuration.value(key, nlohmann::json());
    auto const after = now.configuration.value(key, nlohmann::json());
    if (before == after) continue;
    auto const text = [](nlohmann::json const& value) {
      return value.is_string() ? value.get<std::string>() : value.dump();
    };
    problems.push_back("the checkpoint was trained with --" + std::string(key) + " " + text(before) +
                       ", this run has " + text(after) + "; resume with --" + key + " " + text(before));
  }
  for (auto const& [key, value] : now.configuration.items()) {
    if (key == "preset" || key == "batch" || key == "micro-batches" || key == "seq") continue;
    auto const before = saved.configuration.value(key, nlohmann::json());
    if (before != value)
      notes.push_back("--" + key + " was " + before.dump() + " and is now " + value.dump() +
                      ": from here on the run differs from an uninterrupted one");
  }
  if (now.configuration.contains("steps") && now.configuration["steps"].is_number() &&
      saved.step > now.configuration["steps"].get<std::int64_t>())
    problems.push_back("the checkpoint is at step " + std::to_string(saved.step) + ", beyond --steps " +
                       now.configuration["steps"].dump() + "; resume with at least --steps " +
                       std::to_string(saved.step));
  return problems;
}

}  // namespace mini_llm
