// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scratch.hpp"

#include <mini_llm/checkpoint.hpp>
#include <mini_llm/options.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using weft_test::get;
using weft_test::has;
using weft_test::put;
using weft_test::scratch;
using parameter = weft::parameters::parameter_descriptor;

namespace {

/// A matrix, a vector, and the matrix's second use site, which is not saved.
std::vector<parameter> sample_model() {
  parameter table;
  table.name = "transformer.wte.weight";
  table.extents[0] = 3;
  table.extents[1] = 2;
  table.dimensions = 2;
  parameter bias;
  bias.name = "transformer.ln_f.bias";
  bias.extents[0] = 2;
  parameter again = table;
  again.use_site = 1;
  return {table, bias, again};
}

mini_llm::checkpoint_facts facts_at(std::int64_t step) {
  mini_llm::checkpoint_facts facts;
  facts.step = step;
  facts.optimizer_steps = step - 1;  // one gradient was not finite
  facts.seed = ~std::uint64_t{0};
  facts.sampler_cursor = static_cast<std::uint64_t>(step);
  facts.data_hash = 0x123456789abcdef0;
  facts.configuration = mini_llm::resume_configuration(mini_llm::options{});
  if (step == 30) facts.loss_scale = weft::train::loss_scale_state{.scale = 32768.0, .counted = 7};
  return facts;
}

template <class Real = float>
std::filesystem::path save(std::filesystem::path const& folder, std::int64_t step) {
  auto const model = sample_model();
  mini_llm::checkpoint_writer<Real> writer(folder, facts_at(step), model);
  Real next = static_cast<Real>(step);
  for (auto const& each : model) {
    if (each.use_site != 0) continue;
    for (char const* const kind : mini_llm::checkpoint_kinds) {
      std::vector<Real> values(static_cast<std::size_t>(each.elements()));
      for (Real& value : values) value = next += Real(0.125);
      writer.write(kind, each.name, values);
    }
  }
  return writer.commit();
}

std::string names_in(std::filesystem::path const& folder) {
  std::string names;
  for (auto const& file : mini_llm::list_checkpoints(folder)) names += " " + file.path.filename().string();
  return names;
}

template <class Action>
std::string words(Action action) {
  return weft_test::message_of<weft::error>(action);
}

void flip(std::filesystem::path const& path, std::size_t place) {
  std::string content = get(path);
  content[place] = static_cast<char>(content[place] ^ 4);
  put(path, content);
}

}  // namespace

TEST_CASE("a checkpoint says again what it was told") {
  scratch folder;
  save(folder.path(), 30);
  mini_llm::checkpoint_reader const reader(folder / "checkpoint-30.safetensors");
  CHECK(reader.facts().step == 30);
  CHECK(reader.facts().seed == ~std::uint64_t{0});
  CHECK(reader.facts().optimizer_steps == 29);
  CHECK(reader.facts().sampler_cursor == 30);
  CHECK(reader.facts().data_hash == 0x123456789abcdef0);
  CHECK(reader.facts().configuration == facts_at(30).configuration);
  CHECK(reader.facts().loss_scale == weft::train::loss_scale_state{.scale = 32768.0, .counted = 7});
  auto const model = sample_model();
  CHECK_NOTHROW(reader.require_model<float>(model));
  float expected = 30.0f;
  for (auto const& each : {model[0], model[1]})
    for (char const* const kind : mini_llm::checkpoint_kinds) {
      std::vector<float> values(static_cast<std::size_t>(each.elements()));
      reader.read(kind, each, values.data());
      for (float const value : values) CHECK(value == (expected += 0.125f));
    }
}

TEST_CASE("a loss scale of 1 is saved as any other one, and one that no run has is refused") {
  auto const path_with = [](std::filesystem::path const& folder, weft::train::loss_scale_state const& scale) {
    auto facts = facts_at(5);
    facts.loss_scale = scale;
    mini_llm::checkpoint_writer<float> writer(folder, facts, sample_model());
    for (auto const& each : sample_model())
      for (char const* const kind : mini_llm::checkpoint_kinds)
        if (each.use_site == 0)
          writer.write(kind, each.name, std::vector<float>(static_cast<std::size_t>(each.elements())));
    return writer.commit();
  };
  scratch const folder;
  CHECK(mini_llm::checkpoint_reader(path_with(folder.path(), {})).facts().loss_scale ==
        weft::train::loss_scale_state{.scale = 1.0, .counted = 0});
  CHECK(!mini_llm::checkpoint_reader(save(folder.path(), 20)).facts().loss_scale);
  for (double const wrong : {3.0, 0.0, 1099511627776.0})
    CHECK_THROWS_WITH_AS(mini_llm::checkpoint_reader(path_with(folder.path(), {.scale = wrong})),
                         doctest::Contains("no usable \"weft.loss_scale\""), weft::error);
}

TEST_CASE("equal state makes equal files") {
  scratch first;
  scratch second;
  save(first.path(), 4);
  save(second.path(), 4);
  CHECK(get(first / "checkpoint-4.safetensors") == get(second / "checkpoint-4.safetensors"));
}

TEST_CASE("the two newest are kept, and only checkpoints are ever removed") {
  scratch folder;
  put(folder / "checkpoint-5.safetensors.partial", "x");
  put(folder / "checkpoint-x.safetensors", "x");
  put(folder / "checkpoint-7.safetensors.bak", "x");
  for (std::int64_t const step : {9, 10, 100}) save(folder.path(), step);
  CHECK(names_in(folder.path()) == " checkpoint-100.safetensors checkpoint-10.safetensors");  // 100 > 10 > 9: numbers
  CHECK(std::filesystem::exists(folder / "checkpoint-x.safetensors"));
  CHECK(std::filesystem::exists(folder / "checkpoint-7.safetensors.bak"));
  CHECK(mini_llm::open_latest_checkpoint(folder.path()).facts().step == 100);
  // Saved again from an older step on: newer ones are not this run's to remove.
  save(folder.path(), 50);
  CHECK(names_in(folder.path()) == " checkpoint-100.safetensors checkpoint-50.safetensors checkpoint-10.safetensors");
}

TEST_CASE("checkpoints beyond the resumed step are set aside") {
  scratch folder;
  mini_llm::out_directory out(folder / "out");
  save(out.path(), 10);
  save(out.path(), 20);
  CHECK(mini_llm::set_later_checkpoints_aside(out, 20).empty());
  CHECK(mini_llm::set_later_checkpoints_aside(out, 10) == out.path() / "earlier-1");
  CHECK(names_in(out.path()) == " checkpoint-10.safetensors");
  CHECK(names_in(out.path() / "earlier-1") == " checkpoint-20.safetensors");
}

TEST_CASE("a damaged newest checkpoint is named together with the whole older one; nothing happens silently") {
  scratch folder;
  CHECK(has(words([&] { mini_llm::open_latest_checkpoint(folder.path()); }), "holds no checkpoint to resume from"));
  CHECK(has(words([&] { mini_llm::open_latest_checkpoint(folder / "missing"); }), "missing cannot be listed"));
  save(folder.path(), 10);
  save(folder.path(), 20);
  auto const newest = folder / "checkpoint-20.safetensors";
  std::string const whole = get(newest);
  flip(newest, whole.size() - 1);
  std::string const damaged = words([&] { mini_llm::open_latest_checkpoint(folder.path()); });
  CHECK(has(damaged, newest.string() + " is damaged"));
  CHECK(has(damaged, "has other contents than when it was written"));
  CHECK(has(damaged, "--resume " + (folder / "checkpoint-10.safetensors").string()));
  put(newest, "");
  CHECK(has(words([&] { mini_llm::open_latest_checkpoint(folder.path()); }), "has 0 bytes"));
  flip(folder / "checkpoint-10.safetensors", 100);
  CHECK(has(words([&] { mini_llm::open_latest_checkpoint(folder.path()); }), "no older checkpoint in"));
  put(newest, whole);
  CHECK(mini_llm::open_latest_checkpoint(folder.path()).facts().step == 20);
}

TEST_CASE("no cut and no flipped bit gets past the reader") {
  scratch folder;
  auto const path = save(folder.path(), 12);
  std::string const whole = get(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    put(path, whole.substr(0, length));
    REQUIRE_FALSE(words([&] { mini_llm::checkpoint_reader reader(path); }).empty());
  }
  for (std::size_t place = 0; place < whole.size(); ++place) {
    CAPTURE(place);
    for (int const bit : {0, 2, 5, 7}) {
      std::string file = whole;
      file[place] = static_cast<char>(file[place] ^ (1 << bit));
      put(path, file);
      REQUIRE_FALSE(words([&] { mini_llm::checkpoint_reader reader(path); }).empty());
    }
  }
}

TEST_CASE("another model is refused by the first difference") {
  scratch folder;
  auto const path = save(folder.path(), 1);
  mini_llm::checkpoint_reader const reader(path);
  auto const refusal = [&](std::vector<parameter> const& model) {
    return words([&] { reader.require_model<float>(model); });
  };
  auto model = sample_model();
  CHECK(refusal(model) == "");
  model[0].extents[0] = 4;
  CHECK(has(refusal(model), "its \"value.transformer.wte.weight\" is [3, 2], this model's [4, 2]"));
  CHECK(has(refusal(model), "resume with the --preset it was trained with (nano)"));
  model = sample_model();
  model[1].name = "transformer.ln_f.weight";
  CHECK(has(refusal(model), "it has no \"value.transformer.ln_f.weight\""));
  model = sample_model();
  model.erase(model.begin() + 1);
  CHECK(has(refusal(model), "it has 6 tensors, this model's state 3"));
  CHECK(has(words([&] { reader.require_model<double>(sample_model()); }), "is F32, this run trains in F64"));
}

TEST_CASE("weights without optimizer state are no checkpoint") {
  scratch folder;
  auto writer = mini_llm::safetensors_writer::create<float>(folder / "file", {}, {}, true);
  writer.commit();
  CHECK(has(words([&] { mini_llm::checkpoint_reader(folder / "file"); }), "use --init, not --resume"));
  auto newer = mini_llm::safetensors_writer::create<float>(folder / "file", {}, {{"weft.checkpoint", "2"}}, true);
  newer.commit();
  CHECK(has(words([&] { mini_llm::checkpoint_reader(folder / "file"); }),
            "has the format version 2, this program reads version 1"));
  auto lacking = mini_llm::safetensors_writer::create<float>(folder / "file", {},
                                                             {{"weft.checkpoint", "1"}, {"weft.step", "1x"}}, true);
  lacking.commit();
  CHECK(has(words([&] { mini_llm::checkpoint_reader(folder / "file"); }), "has no usable \"weft.step\""));
}

TEST_CASE("a resume refuses what would change the numbers, and notes what does so on purpose") {
  mini_llm::options chosen;
  auto const saved = facts_at(100);
  auto const against = [&](mini_llm::checkpoint_facts const& now, std::vector<std::string>& notes) {
    std::string all;
    for (std::string const& problem : mini_llm::resume_problems(saved, now, notes)) all += problem + "\n";
    return all;
  };
  std::vector<std::string> notes;
  auto now = facts_at(0);
  CHECK(against(now, notes).empty());
  CHECK(notes.empty());
  chosen.schedule = "gpipe";  // schedule and split are free
  chosen.partition = {1, 5};
  chosen.recompute = mini_llm::recompute_kind::full;
  chosen.eval_every = 7;
  now.configuration = mini_llm::resume_configuration(chosen);
  CHECK(against(now, notes).empty());
  CHECK(notes.empty());
  chosen.batch = 32;
  chosen.micro_batches = 8;
  chosen.preset = mini_llm::preset_kind::small;
  chosen.sequence_length = 64;
  now.configuration = mini_llm::resume_configuration(chosen);
  now.seed = 5;
  now.data_hash = 6;
  std::string const all = against(now, notes);
  CHECK(has(all, "was trained with --batch 8, this run has 32; resume with --batch 8\n"));
  CHECK(has(all, "was trained with --micro-batches 4, this run has 8; resume with --micro-batches 4\n"));
  CHECK(has(all, "was trained with --preset nano, this run has small; resume with --preset nano\n"));
  CHECK(has(all, "was trained with --seq 128, this run has 64; resume with --seq 128\n"));
  CHECK(has(all, "was trained with --seed 18446744073709551615, this run has 5"));
  CHECK(has(all, "was trained on other data"));
  CHECK(notes.empty());
  chosen = mini_llm::options{};
  chosen.learning_rate = 0.5;
  chosen.steps = 99;
  now = facts_at(0);
  now.configuration = mini_llm::resume_configuration(chosen);
  CHECK(has(against(now, notes), "the checkpoint is at step 100, beyond --steps 99"));
  REQUIRE(notes.size() == 2);
  CHECK(has(notes[0], "--lr was 0.003 and is now 0.5: from here on the run differs from an uninterrupted one"));
}
