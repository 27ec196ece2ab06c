// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "layer_fixture.hpp"

#include <weft/execution/reduced.hpp>
#include <weft/model/gpt2.hpp>
#include <weft/model/llama.hpp>
#include <weft/model/model_stage.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using weft::topology::layer_range;

namespace {

using space = Kokkos::DefaultHostExecutionSpace;
using memory = space::memory_space;
using views = weft::boundary_views<memory>;

constexpr weft::model::gpt_size tiny{.vocabulary = 11, .positions = 9, .width = 6, .heads = 3, .blocks = 2};
using model = weft::model::gpt2<tiny>;
using llama = weft::model::llama<weft::model::llama_size{
    .vocabulary = 11, .positions = 9, .width = 12, .heads = 6, .kv_heads = 3, .hidden = 10, .blocks = 2, .theta = 100}>;
constexpr weft::model::extents largest{3, 7};

/// A block that describes one parameter more than a layer may have.
struct crowded_block : weft::model::block<tiny> {
  static std::vector<weft::parameters::parameter_descriptor> describe(int index) {
    auto all = weft::model::block<tiny>::describe(index);
    while (all.size() < 17) {
      all.push_back(all.back());
      all.back().name += "_again";
    }
    return all;
  }
};
struct crowded_model : model {
  template <class Visitor>
  static auto visit(int layer, Visitor&& visitor) {
    if (layer == 2) return visitor(weft::model::layer_tag<crowded_block>{}, 1);
    return model::visit(layer, visitor);
  }
};

struct text {
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;
  int sequences;
  int length;
  int counted = 0;

  text(int how_many, int long_each) : sequences(how_many), length(long_each) {
    for (std::uint32_t index = 0; index < static_cast<std::uint32_t>(sequences * length); ++index) {
      auto const drawn = weft::random::philox({{index, 0, 0, 0}}, {21, 0});
      inputs.push_back(static_cast<std::int32_t>(drawn.word[0] % 10));  // token 10 never occurs
      targets.push_back(static_cast<std::int32_t>(drawn.word[1] % 12) - 1);
      counted += targets.back() >= 0 ? 1 : 0;
    }
  }
  [[nodiscard]] weft::model::token_batch batch(int micro_batches, bool training = true) const {
    return {inputs.data(), targets.data(), sequences, length, micro_batches, counted, 17, 3, training};
  }
};

/// Plays stages by hand: as a pipeline would, but on one rank, with boundary buffers of its own.
template <class Number, class Model = model>
struct rig {
  using Real = Number;
  using model_type = Model;
  using stage_type = weft::model::model_stage<Model, Real, space>;
  using weight = typename stage_type::store_type::weight;

  std::vector<layer_range> layers;
  stage_type stage;
  weft::stage_context<space> context{space(), nullptr};
  weft::boundary layout[16];
  std::map<std::pair<int, int>, std::vector<std::byte>> wires;  ///< (edge, micro-batch), 100 more for gradients
  int stages;
  int slots;

  explicit rig(std::vector<layer_range> ranges, int slot_count = 3)
      : layers(ranges),
        stage(ranges, every(ranges), largest, 5),
        stages(static_cast<int>(ranges.size())),
        slots(slot_count) {
    for (int each = 0; each < stages; ++each) {
      stage.prepare(each, {.activation = slots, .weight_context = slots});
      layout[each] = stage.boundary({each, each + 1});
    }
  }
  static std::vector<int> every(std::vector<layer_range> const& ranges) {
    std::vector<int> all(ranges.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  views edge(int source, int micro_batch, bool is_gradient, bool fresh = false) {
    views result;
    if (source < 0 || source + 1 >= stages) return result;
    auto& wire = wires[{source + (is_gradient ? 100 : 0), micro_batch}];
    weft::boundary_view<memory> view(nullptr, &layout[source]);
    if (wire.empty() || fresh) wire.assign(view.bytes() + 64, std::byte{0x7F});
    result.push_back(weft::boundary_view<memory>(wire.data(), &layout[source]));
    return result;
  }
  void forward(int each, int micro_batch, int slot) {
    context.set(each, micro_batch, slot, 0);
    views const in = edge(each - 1, micro_batch, false);
    views out = edge(each, micro_batch, false, true);
    stage.forward(context, in, out);
  }
  void backward(int each, int micro_batch, int slot) {
    context.set(each, micro_batch, slot, 0);
    views const in = edge(each - 1, micro_batch, false);
    views const grad_out = edge(each, micro_batch, true);
    views grad_in = edge(each - 1, micro_batch, true, true);
    stage.backward(context, in, grad_out, grad_in);
  }
  void backward_input(int each, int micro_batch, int slot, int weight_slot) {
    context.set(each, micro_batch, slot, weight_slot);
    views const in = edge(each - 1, micro_batch, false);
    views const grad_out = edge(each, micro_batch, true);
    views grad_in = edge(each - 1, micro_batch, true, true);
    stage.backward_input(context, in, grad_out, grad_in);
  }
  void backward_weight(int each, int micro_batch, int slot, int weight_slot) {
    context.set(each, micro_batch, slot, weight_slot);
    stage.backward_weight(context, edge(each - 1, micro_batch, false), edge(each, micro_batch, true));
  }

  double loss(weft::model::token_batch const& batch) {
    stage.begin(batch);
    for (int micro_batch = 0; micro_batch < batch.micro_batches; ++micro_batch)
      for (int each = 0; each < stages; ++each) forward(each, micro_batch, 0);
    double sum = 0.0;
    for (double const part : stage.loss_sums()) sum += part;
    return sum / static_cast<double>(batch.counted_tokens);
  }
  /// One micro-batch after the other, B as I then W or in one piece.
  double train(weft::model::token_batch const& batch, bool recompute = false, bool whole = false) {
    stage.begin(batch);
    stage.parameters().zero_gradients(space());
    for (int micro_batch = 0; micro_batch < batch.micro_batches; ++micro_batch) {
      for (int each = 0; each < stages; ++each) forward(each, micro_batch, 0);
      for (int each = stages - 1; each >= 0; --each) {
        if (recompute) forward(each, micro_batch, 1);
        if (whole) {
          backward(each, micro_batch, recompute ? 1 : 0);
          continue;
        }
        backward_input(each, micro_batch, recompute ? 1 : 0, 0);
        backward_weight(each, micro_batch, recompute ? 1 : 0, 0);
      }
    }
    double sum = 0.0;
    for (double const part : stage.loss_sums()) sum += part;
    return sum / static_cast<double>(batch.counted_tokens);
  }
  /// Gradients by name and use site.
  std::map<std::pair<std::string, int>, std::vector<weight>> gradients() {
    std::map<std::pair<std::string, int>, std::vector<weight>> result;
    auto& store = stage.parameters();
    for (auto const& entry : store.entries()) {
      std::vector<weight> host(static_cast<std::size_t>(entry.elements));
      stage_type::store_type::read(store.gradient(entry), host.data());
      result[{entry.descriptor.name, entry.descriptor.use_site}] = std::move(host);
    }
    return result;
  }
  /// Makes every parameter clearly different from its initial value; both uses of the tied table alike.
  void shake(double deviation) {
    for (auto const& entry : stage.parameters().entries()) {
      auto const add = layer_fixture::normal_numbers<weight>(
          static_cast<std::size_t>(entry.elements),
          static_cast<std::uint32_t>(weft::random::hash(entry.descriptor.name)), deviation);
      auto const value = stage.parameters().value(entry);
      for (std::size_t index = 0; index < add.size(); ++index) value(index) += add[index];
    }
  }
};

std::vector<layer_range> const whole{{0, 4}};

using float_gpt2 = rig<float>;
using double_gpt2 = rig<double>;
using float_llama = rig<float, llama>;
using double_llama = rig<double, llama>;

/// Where the model has dropout.
template <class Rig>
void drop(Rig& made, double rate) {
  if constexpr (std::is_same_v<typename Rig::model_type, model>) made.stage.set_dropout(rate);
}

}  // namespace

TEST_CASE_TEMPLATE("model_stage: the whole model's gradients against finite differences", Rig, double_gpt2,
                   double_llama) {
  // 5 sequences in 3 micro-batches: 2, 2 and 1; 7 tokens; some targets not counted; and one sequence in two pieces
  struct shape {
    int sequences;
    int micro_batches;
    double rate;
  };
  for (shape const& how : {shape{5, 3, 0.0}, shape{1, 2, 0.0}, shape{3, 2, 0.15}}) {
    CAPTURE(how.sequences);
    CAPTURE(how.rate);
    text const words(how.sequences, 7);
    Rig made(whole);
    drop(made, how.rate);
    made.shake(0.4);
    auto const batch = words.batch(how.micro_batches);
    made.train(batch);
    auto& store = made.stage.parameters();
    // One tensor per parameter; the tied table's two copies move together, and its accumulators are added.
    std::vector<layer_fixture::tensor> tensors;
    std::map<std::string, std::size_t> place;
    auto const gradients = made.gradients();
    for (auto const& entry : store.entries()) {
      std::string const& name = entry.descriptor.name;
      auto const& gradient = gradients.at({name, entry.descriptor.use_site});
      if (!place.contains(name)) {
        place[name] = tensors.size();
        tensors.emplace_back(name, entry.elements, 0);
        std::vector<double>& value = tensors.back().value;
        std::decay_t<decltype(store)>::read(store.value(entry), value.data());
      }
      for (std::size_t index = 0; index < gradient.size(); ++index)
        tensors[place[name]].gradient[index] += gradient[index];
    }
    std::vector<layer_fixture::tensor*> all;
    for (auto& each : tensors) all.push_back(&each);
    layer_fixture::check_gradients(
        [&] {
          for (auto const& entry : store.entries())
            std::decay_t<decltype(store)>::write(store.value(entry),
                                                 tensors[place[entry.descriptor.name]].value.data());
          return made.loss(batch);
        },
        all, 5e-5);
  }
}

TEST_CASE_TEMPLATE("model_stage: any cut into stages gives the same bits, empty stages too", Rig, float_gpt2,
                   double_gpt2, float_llama, double_llama) {
  text const words(7, 7);
  auto const batch = words.batch(3);
  Rig serial(whole);
  drop(serial, 0.1);
  double const loss = serial.train(batch);
  std::vector<double> const sums = serial.stage.loss_sums();
  CHECK(sums.size() == 3);
  CHECK(sums[2] > 0.0);
  auto const wanted = serial.gradients();
  for (auto const& ranges : std::vector<std::vector<layer_range>>{{{0, 1}, {1, 2}, {2, 3}, {3, 4}},
                                                                  {{0, 3}, {3, 4}},
                                                                  {{0, 1}, {1, 4}},
                                                                  {{0, 2}, {2, 2}, {2, 2}, {2, 4}},
                                                                  {{0, 1}, {1, 1}, {1, 4}},
                                                                  {{0, 3}, {3, 3}, {3, 4}},
                                                                  {{0, 1}, {1, 1}, {1, 3}, {3, 3}, {3, 4}}}) {
    Rig cut(ranges);
    drop(cut, 0.1);
    CAPTURE(ranges.size());
    CHECK(cut.train(batch) == loss);
    CHECK(cut.stage.loss_sums() == sums);
    CHECK(cut.gradients() == wanted);
  }
}

TEST_CASE_TEMPLATE("model_stage: B is I then W, however late W comes", Rig, float_gpt2, double_gpt2, float_llama,
                   double_llama) {
  text const words(6, 5);
  auto const batch = words.batch(3);
  Rig together({{0, 2}, {2, 4}});
  double const loss = together.train(batch);
  Rig apart({{0, 2}, {2, 4}});
  apart.stage.begin(batch);
  apart.stage.parameters().zero_gradients(space());
  for (int micro_batch = 0; micro_batch < 3; ++micro_batch)
    for (int each = 0; each < 2; ++each) apart.forward(each, micro_batch, micro_batch);
  for (int micro_batch = 2; micro_batch >= 0; --micro_batch)
    for (int each = 1; each >= 0; --each) apart.backward_input(each, micro_batch, micro_batch, 2 - micro_batch);
  for (int each = 0; each < 2; ++each)
    for (int micro_batch = 0; micro_batch < 3; ++micro_batch)
      apart.backward_weight(each, micro_batch, micro_batch, 2 - micro_batch);
  double sum = 0.0;
  for (double const part : apart.stage.loss_sums()) sum += part;
  CHECK(sum / static_cast<double>(batch.counted_tokens) == loss);
  CHECK(apart.gradients() == together.gradients());

  // B in one piece, with the weight context of one layer at a time; all layers in one stage, too.
  for (auto const& ranges : {std::vector<layer_range>{{0, 2}, {2, 4}}, std::vector<layer_range>{{0, 4}},
                             std::vector<layer_range>{{0, 1}, {1, 1}, {1, 4}}}) {
    Rig in_one(ranges);
    auto const before = in_one.stage.buffer_bytes();
    CHECK(in_one.train(batch, false, true) == loss);
    CHECK(in_one.gradients() == together.gradients());
    CHECK(in_one.stage.buffer_bytes() > before);
    auto const once = in_one.stage.buffer_bytes();
    in_one.train(batch, true, true);
    CHECK(in_one.gradients() == together.gradients());
    CHECK(in_one.stage.buffer_bytes() == once);
  }
}

TEST_CASE("model_stage: recompute makes the same bits, dropout on") {
  text const words(5, 7);
  rig<float> once({{0, 2}, {2, 4}});
  rig<float> again({{0, 2}, {2, 4}});
  once.stage.set_dropout(0.3);
  again.stage.set_dropout(0.3);
  double const loss = once.train(words.batch(2));
  CHECK(again.train(words.batch(2), true) == loss);
  CHECK(again.gradients() == once.gradients());
  rig<float> without({{0, 2}, {2, 4}});
  CHECK(without.train(words.batch(2)) != loss);
  auto other_step = words.batch(2);
  other_step.step = 4;
  CHECK(once.train(other_step) != loss);
  CHECK(once.train(words.batch(2, false)) == without.train(words.batch(2, true)));  // no dropout outside training
}

TEST_CASE_TEMPLATE("model_stage: loss and gradients do not depend on how the batch is cut", Rig, float_gpt2,
                   double_gpt2, float_llama, double_llama) {
  using Real = typename Rig::Real;
  double const tolerance = sizeof(Real) == 8 ? 1e-9 : 1e-5;
  text const words(3, 7);
  Rig one(whole);
  one.shake(0.3);
  double const loss = one.train(words.batch(1));
  auto const wanted = one.gradients();
  for (int const micro_batches : {2, 3, 5}) {  // 5: two micro-batches without a sequence
    Rig cut(whole);
    cut.shake(0.3);
    CHECK(std::abs(cut.train(words.batch(micro_batches)) - loss) <= tolerance * loss);
    for (auto const& found : cut.gradients()) {
      auto const& gradient = found.second;
      double biggest = 0.0;
      double worst = 0.0;
      for (std::size_t index = 0; index < gradient.size(); ++index) {
        double const other = static_cast<double>(wanted.at(found.first)[index]);
        biggest = std::max(biggest, std::abs(other));
        worst = std::max(worst, std::abs(static_cast<double>(gradient[index]) - other));
      }
      CAPTURE(found.first.first);
      CHECK(worst <= tolerance * std::max(biggest, 1e-3));
    }
  }
}

TEST_CASE("model_stage: recompute makes the same bits without dropout, for a Llama") {
  text const words(5, 7);
  float_llama once({{0, 2}, {2, 4}});
  float_llama again({{0, 2}, {2, 4}});
  double const loss = once.train(words.batch(2));
  CHECK(again.train(words.batch(2), true) == loss);
  CHECK(again.gradients() == once.gradients());
}

TEST_CASE("model_stage: the tied table has an accumulator per use site") {
  text const words(3, 7);
  rig<double> made(whole);
  made.shake(0.3);
  made.train(words.batch(1));
  auto const gradients = made.gradients();
  auto const& used = gradients.at({"transformer.wte.weight", 0});
  auto const& projected = gradients.at({"transformer.wte.weight", 1});
  for (std::size_t c = 0; c < 6; ++c) {
    CHECK(used[10 * 6 + c] == 0.0);  // token 10 is no input
    CHECK(projected[10 * 6 + c] != 0.0);
  }
  rig<double> other({{0, 2}, {2, 4}});
  auto const& entries = other.stage.parameters().entries();
  CHECK(entries.front().descriptor.tie_group == 0);
  CHECK(entries.back().descriptor.tie_group == 0);
  CHECK(entries.front().stage == 0);
  CHECK(entries.back().stage == 1);
  auto const first = other.stage.parameters().value(entries.front());
  auto const last = other.stage.parameters().value(entries.back());
  for (std::size_t index = 0; index < first.extent(0); ++index) CHECK(first(index) == last(index));
}

TEST_CASE("model_stage: shorter sequences than the buffers are made for; logits for text generation") {
  text const words(3, 4);
  rig<float> made({{0, 2}, {2, 4}});
  made.loss(words.batch(1));
  std::vector<float> at_two(11);
  made.stage.last_logits(1, 2, at_two.data());
  // what is after a position cannot change its logits
  text shorter(1, 3);
  for (std::size_t index = 0; index < 3; ++index) shorter.inputs[index] = words.inputs[4 + index];
  made.loss(shorter.batch(1));
  std::vector<float> alone(11);
  made.stage.last_logits(0, 2, alone.data());
  for (std::size_t index = 0; index < 11; ++index) CHECK(alone[index] == doctest::Approx(at_two[index]).epsilon(1e-4));
  CHECK_THROWS_AS(made.stage.last_logits(0, 3, alone.data()), weft::error);
  CHECK_THROWS_AS(made.stage.last_logits(1, 0, alone.data()), weft::error);
}

TEST_CASE("model_stage: a rank without the head reports zeros, without tokens it needs none") {
  weft::model::model_stage<model, float, space> first({{0, 2}, {2, 3}, {3, 4}}, {1}, largest, 5);
  weft::model::token_batch const batch{nullptr, nullptr, 4, 7, 2, 28, 0, 0, true};
  first.begin(batch);
  CHECK(first.loss_sums() == std::vector<double>(2, 0.0));
  std::vector<float> row(11);
  CHECK_THROWS_AS(first.last_logits(0, 0, row.data()), weft::error);
}

TEST_CASE("model_stage: what cannot be is refused with a remedy") {
  using stage = weft::model::model_stage<model, float, space>;
  CHECK_THROWS_WITH_AS(
      stage({{0, 2}, {3, 4}}, {0}, largest, 5),
      "weft::model_stage: stage 1 has layers [3, 4), but must begin with layer 2; give every stage the "
      "range that follows its predecessor's",
      weft::error);
  CHECK_THROWS_WITH_AS(stage({{0, 3}}, {0}, largest, 5),
                       "weft::partition: the stages hold 3 layers and the model has 4; add 1", weft::error);
  // An empty stage at either end would put the reduction of tied gradients on a rank that holds none.
  CHECK_THROWS_WITH_AS(stage({{0, 0}, {0, 3}, {3, 4}}, {1}, largest, 5),
                       "weft::partition: stage 0 has no layers; only stages between the first and the last may be "
                       "empty, so give it one or use fewer stages",
                       weft::error);
  CHECK_THROWS_WITH_AS(stage({{0, 3}, {3, 4}, {4, 4}}, {1}, largest, 5),
                       doctest::Contains("weft::partition: stage 2 has no layers"), weft::error);
  CHECK_THROWS_WITH_AS(stage({{0, 3}, {3, 2}, {2, 4}}, {0}, largest, 5),
                       "weft::partition: stage 1 has -1 layers; use 0 or more", weft::error);
  using overfull = weft::model::model_stage<crowded_model, float, space>;
  CHECK_THROWS_WITH_AS(overfull({{0, 4}}, {0}, largest, 5),
                       "weft::model_stage: layer 2 describes 17 parameters, and a layer may have 16; cut it into "
                       "several layers",
                       weft::error);
  CHECK_THROWS_AS(stage({{0, 4}}, {1}, largest, 5), weft::error);
  CHECK_THROWS_WITH_AS(stage({{0, 4}}, {0}, {1, 10}, 5),
                       "weft::model_stage: sequences of 10 tokens do not fit the model's 9 positions; choose a length "
                       "from 1 to that",
                       weft::error);
  stage made({{0, 4}}, {0}, largest, 5);
  CHECK_THROWS_AS(made.set_dropout(1.0), weft::error);
  CHECK_THROWS_AS(made.set_dropout(-0.1), weft::error);
  text words(3, 7);
  auto batch = words.batch(1);
  batch.sequence_length = 8;
  CHECK_THROWS_AS(made.begin(batch), weft::error);
  text const many(8, 7);
  CHECK_THROWS_WITH_AS(made.begin(many.batch(2)),
                       "weft::model_stage: a micro-batch has 4 sequences, buffers are for 3; raise "
                       "extents::sequences_per_micro_batch or the number of micro-batches",
                       weft::error);
  CHECK_THROWS_AS(made.begin(words.batch(0)), weft::error);
  words.inputs[4] = 11;
  CHECK_THROWS_WITH_AS(made.begin(words.batch(1)),
                       "weft::model_stage: input number 4 is 11, outside the vocabulary of 11; check how the text was "
                       "made into tokens",
                       weft::error);
  words.inputs[4] = 0;
  words.targets[5] = -2;
  CHECK_THROWS_AS(made.begin(words.batch(1)), weft::error);
  words.targets[5] = -1;
  made.begin(words.batch(1));
  weft::stage_context<space> context(space(), nullptr);
  context.set(0, 0, 0, 0);
  views const in;
  views out;
  CHECK_THROWS_AS(made.forward(context, in, out), weft::error);  // prepare was forgotten
}

TEST_CASE("model_stage: prepare keeps the larger of two programs' slots") {
  rig<float> made(whole, 3);
  std::size_t const before = made.stage.buffer_bytes();
  made.stage.prepare(0, {.activation = 1});
  CHECK(made.stage.buffer_bytes() == before);
  made.stage.prepare(0, {.activation = 4, .weight_context = 3});
  CHECK(made.stage.buffer_bytes() > before);
}

TEST_CASE("model_stage: layers poke pending messages") {
  struct counter : weft::progress_source {
    int pokes = 0;
    void progress() override { ++pokes; }
  } source;
  weft::model::model_stage<model, float, space> made(whole, {0}, largest, 5);
  made.prepare(0, {.activation = 1, .weight_context = 1});
  text const words(3, 7);
  made.begin(words.batch(1));
  weft::stage_context<space> context(space(), &source);
  context.set(0, 0, 0, 0);
  views const in;
  views out;
  made.forward(context, in, out);
  CHECK(source.pokes > 4);
}

TEST_CASE("model_stage: messages narrower than activations are rounded once, and nothing else is") {
  using narrow = rig<weft::precision<weft::wire_in<weft::bfloat16>>>;
  text const words(7, 7);
  auto const batch = words.batch(3);
  std::vector<layer_range> const cut{{0, 2}, {2, 2}, {2, 4}};
  float_gpt2 plain(cut);
  double const loss = plain.train(batch);
  narrow alone(whole);  // no message, no rounding
  CHECK(alone.train(batch) == loss);
  CHECK(alone.gradients() == plain.gradients());
  narrow made(cut);
  CHECK(made.layout[0].components[0].type == weft::scalar::bf16);
  std::size_t const prepared = made.stage.buffer_bytes();
  double const rounded = made.train(batch);
  CHECK(made.stage.buffer_bytes() == prepared);
  for (int each = 0; each < 3; ++each) made.stage.prepare_backward(each);
  std::size_t const with_whole = made.stage.buffer_bytes();
  CHECK(with_whole > prepared);
  CHECK(rounded != loss);
  CHECK(rounded == doctest::Approx(loss).epsilon(0.01));
  for (int const edge : {0, 1}) {
    auto const sent = plain.edge(edge, 1, false)[0].view<float>(0);
    auto const wire = made.edge(edge, 1, false)[0].view<weft::bfloat16>(0);
    REQUIRE(sent.extent(0) == wire.extent(0));
    int wrong = 0;
    for (std::size_t index = 0; index < sent.extent(0); ++index)
      wrong += wire(index).bits != weft::bfloat16(sent(index)).bits;
    CHECK(wrong == 0);
  }
  auto const gradients = made.gradients();
  for (auto const& [name, wanted] : plain.gradients()) {
    double difference = 0.0;
    double size = 0.0;
    for (std::size_t index = 0; index < wanted.size(); ++index) {
      auto const away = static_cast<double>(gradients.at(name)[index]) - static_cast<double>(wanted[index]);
      difference += away * away;
      size += static_cast<double>(wanted[index]) * static_cast<double>(wanted[index]);
    }
    CAPTURE(name.first);
    CHECK(difference <= 0.02 * 0.02 * size);
  }
  CHECK(made.train(batch, true) == rounded);
  CHECK(made.gradients() == gradients);
  CHECK(made.train(batch, false, true) == rounded);
  CHECK(made.gradients() == gradients);
  CHECK(made.stage.buffer_bytes() == with_whole);
}
