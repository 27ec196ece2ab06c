// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "out_directory.hpp"
#include "safetensors_reader.hpp"
#include "safetensors_writer.hpp"

#include <weft/error.hpp>
#include <weft/parameters/parameter_descriptor.hpp>
#include <weft/train/loss_scale.hpp>

#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// @file
/// Checkpoints: one safetensors file `checkpoint-<step>.safetensors` each, whole and checked or not there at all. Keys
/// are `value.`, `first_moment.` and `second_moment.` before a parameter's name, never a rank or a stage: what was
/// saved on four ranks is read on three. Nothing points at the newest one, so that no pointer can be wrong: the largest
/// step is it. Nothing here communicates; one rank writes, all read.

namespace mini_llm {

inline constexpr char const* checkpoint_kinds[] = {"value", "first_moment", "second_moment"};

/// What a checkpoint says beside its tensors.
struct checkpoint_facts {
  std::int64_t step = 0;  ///< steps done
  std::uint64_t seed = 0;
  std::int64_t optimizer_steps = 0;  ///< of them, those that changed the weights (the gradient was finite)
  std::uint64_t sampler_cursor = 0;  ///< the step whose windows are drawn next
  std::uint64_t data_hash = 0;
  nlohmann::json configuration = nlohmann::json::object();  ///< `resume_configuration(options)`
  std::optional<weft::train::loss_scale_state> loss_scale;  ///< of the step that comes next, where it changes
  nlohmann::json carried;  ///< of an asynchronous run: what goes with its carried tensors (carried.hpp); else null
};

/// A tensor beside values and moments.
struct carried_tensor {
  std::string kind;
  weft::parameters::parameter_descriptor parameter;
};

fs::path checkpoint_path(fs::path const& directory, std::int64_t step);

struct checkpoint_file {
  std::int64_t step;
  fs::path path;
};

/// Checkpoints of a folder, the newest (largest step) first.
std::vector<checkpoint_file> list_checkpoints(fs::path const& directory);

/// Writes one checkpoint: for every parameter that owns its name (use site 0), in the given order, its value, first
/// moment and second moment. Real is the type that is trained, so that nothing is rounded.
template <class Real>
class checkpoint_writer {
 public:
  checkpoint_writer(fs::path directory, checkpoint_facts const& facts,
                    std::vector<weft::parameters::parameter_descriptor> const& parameters,
                    std::vector<carried_tensor> const& carried = {})
      : directory_(std::move(directory)),
        step_(facts.step),
        file_(safetensors_writer::create<Real>(checkpoint_path(directory_, step_), entries(parameters, carried),
                                               metadata(facts, carried.size()), true)) {}

  /// `kind` is one of `checkpoint_kinds`.
  void write(std::string const& kind, std::string const& name, std::span<Real const> values) {
    file_.template write<Real>(kind + "." + name, values);
  }

  /// Puts the file in place and removes all but the `keep` newest ones up to this step. Returns its path.
  fs::path commit(int keep = 2) {
    file_.commit();
    int older = 0;
    std::error_code ignored;  // an old checkpoint that cannot be removed costs space, nothing else
    for (checkpoint_file const& other : list_checkpoints(directory_))
      if (other.step < step_ && ++older >= keep) fs::remove(other.path, ignored);
    return checkpoint_path(directory_, step_);
  }

 private:
  static std::vector<safetensors_writer::entry> entries(
      std::vector<weft::parameters::parameter_descriptor> const& parameters,
      std::vector<carried_tensor> const& carried) {
    std::vector<safetensors_writer::entry> list;
    auto const add = [&](std::string const& kind, weft::parameters::parameter_descriptor const& tensor) {
      list.push_back(
          {kind + "." + tensor.name, std::vector<std::int64_t>(tensor.extents, tensor.extents + tensor.dimensions)});
    };
    for (auto const& parameter : parameters) {
      if (parameter.use_site != 0) continue;
      for (char const* const kind : checkpoint_kinds) add(kind, parameter);
    }
    for (auto const& each : carried) add(each.kind, each.parameter);
    return list;
  }

  static std::map<std::string, std::string> metadata(checkpoint_facts const& facts, std::size_t carried) {
    std::map<std::string, std::string> all{{"weft.checkpoint", "1"},
                                           {"weft.step", std::to_string(facts.step)},
                                           {"weft.seed", std::to_string(facts.seed)},
                                           {"weft.optimizer_steps", std::to_string(facts.optimizer_steps)},
                                           {"weft.sampler_cursor", std::to_string(facts.sampler_cursor)},
                                           {"weft.data_hash", std::to_string(facts.data_hash)},
                                           {"weft.configuration", facts.configuration.dump()}};
    if (facts.loss_scale) {
      all["weft.loss_scale"] = std::to_string(static_cast<std::int64_t>(facts.loss_scale->scale));  // a power of two
      all["weft.loss_scale_counted"] = std::to_string(facts.loss_scale->counted);
    }
    if (!facts.carried.is_null()) {
      auto with_count = facts.carried;
      with_count["tensors"] = carried;
      all["weft.carried"] = with_count.dump();
    }
    return all;
  }

  fs::path directory_;
  std::int64_t step_;
  safetensors_writer file_;
};

/// Opens a checkpoint and, before anything of it is used, compares all of it with its checksum. Where several ranks
/// open the same file, one that verifies is enough (`verify` = false on the others, after it).
class checkpoint_reader {
 public:
  explicit checkpoint_reader(fs::path const& path, bool verify = true);

  [[nodiscard]] checkpoint_facts const& facts() const { return facts_; }
  [[nodiscard]] fs::path const& path() const { return file_.path(); }

  /// The checkpoint must hold exactly the state of these parameters, in the type that is trained.
  template <class Real>
  void require_model(std::vector<weft::parameters::parameter_descriptor> const& parameters) const {
    std::size_t wanted = 0;
    for (auto const& parameter : parameters) {
      if (parameter.use_site != 0) continue;
      std::span<std::int64_t const> const shape(parameter.extents, static_cast<std::size_t>(parameter.dimensions));
      for (char const* const kind : checkpoint_kinds) {
        ++wanted;
        std::string const key = std::string(kind) + "." + parameter.name;
        if (!file_.contains(key)) other_model("it has no \"" + key + "\"");
        tensor_info const& tensor = file_.at(key);
        if (!std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end()))
          other_model("its \"" + key + "\" is " + shape_text(tensor.shape) + ", this model's " + shape_text(shape));
        if (tensor.type != dtype_name<Real>)
          other_model("its \"" + key + "\" is " + tensor.type + ", this run trains in " + dtype_name<Real>);
      }
    }
    if (!facts_.carried.is_null()) wanted += facts_.carried["tensors"].get<std::size_t>();
    if (wanted != file_.tensors().size())
      other_model("it has " + std::to_string(file_.tensors().size()) + " tensors, this model's state " +
                  std::to_string(wanted));
  }

  /// Reads one tensor of one parameter (host memory, all its elements).
  template <class Real>
  void read(std::string const& kind, weft::parameters::parameter_descriptor const& parameter, Real* out) const {
    file_.read(kind + "." + parameter.name,
               std::span<std::int64_t const>(parameter.extents, static_cast<std::size_t>(parameter.dimensions)), out);
  }

 private:
  template <class Integer>
  [[nodiscard]] Integer number(char const* key) const {
    auto const found = file_.metadata().find(key);
    Integer value{};
    if (found == file_.metadata().end()) unusable(key);
    std::string const& text = found->second;
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size()) unusable(key);
    return value;
  }
  [[noreturn]] void unusable(std::string const& key) const;
  [[noreturn]] void other_model(std::string const& difference) const;

  safetensors_reader file_;
  checkpoint_facts facts_;
};

/// Opens the newest checkpoint of a folder. If that one is damaged, the error names it and the newest older one that is
/// whole; nothing is used in its place unasked, since its steps would be trained again. Errors: none there.
checkpoint_reader open_latest_checkpoint(fs::path const& directory);

/// Moves checkpoints beyond `step` out of the way of a run that goes on from `step`: they belong to a future that may
/// not come again. Returns the folder they are in now, empty if there were none.
fs::path set_later_checkpoints_aside(out_directory& out, std::int64_t step);

/// Why a run described by `now` cannot go on from `saved`: one sentence each, none if it can. `notes` gets a sentence
/// for each difference that is allowed, but after which the run no longer equals an uninterrupted one.
std::vector<std::string> resume_problems(checkpoint_facts const& saved, checkpoint_facts const& now,
                                         std::vector<std::string>& notes);

}  // namespace mini_llm
