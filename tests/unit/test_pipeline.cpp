// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "toy_stage.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/forward_only.hpp>
#include <weft/schedule/gpipe.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/passes/assign_slots.hpp>
#include <weft/schedule/passes/unshard_windows.hpp>
#include <weft/schedule/serial.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>
#include <weft/topology/placement.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/subgroup.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

namespace {

using weft::schedule::op;
using weft::schedule::program;
using weft::transport::endpoint;
using weft::transport::in_process;

constexpr weft::schedule::lower_options no_optimizer(bool recompute = false) {
  return {.recompute = recompute, .tied = weft::schedule::tied_stages::none, .optimizer = false};
}

struct result {
  std::vector<double> weight_gradient, bias_gradient, losses;
  friend bool operator==(result const&, result const&) = default;
};

/// Runs the program with one thread a rank and collects what each stage's owner computed.
template <class Stage = toy::stage>
result run(program const& lowered, std::function<void(Stage&, int)> const& setup = {}, int steps = 1) {
  auto const view = lowered.view();
  result total;
  std::vector<Stage> stages;
  for (int rank = 0; rank < view.ranks(); ++rank) {
    stages.emplace_back(view.stages(), view.micro_batches);
    if (setup) setup(stages.back(), rank);
  }
  in_process::run(view.ranks(), [&](endpoint& door) {
    weft::pipeline<Stage, toy::space> engine(view, door, stages[static_cast<std::size_t>(door.rank())]);
    for (int step = 0; step < steps; ++step) engine.step();
  });
  total.weight_gradient.assign(static_cast<std::size_t>(stages[0].layers), 0.0);
  total.bias_gradient = total.weight_gradient;
  for (int stage = 0; stage < view.stages(); ++stage) {
    auto const& owner = stages[static_cast<std::size_t>(view.graph.rank_of(stage))];
    auto const range = owner.ranges[static_cast<std::size_t>(stage)];
    for (int layer = range.first; layer < range.last; ++layer) {
      total.weight_gradient[static_cast<std::size_t>(layer)] = owner.weight_gradient[static_cast<std::size_t>(layer)];
      total.bias_gradient[static_cast<std::size_t>(layer)] = owner.bias_gradient[static_cast<std::size_t>(layer)];
    }
    if (stage == view.stages() - 1) total.losses = owner.losses;
  }
  return total;
}

template <class Policy>
program make(int ranks, int micro_batches, bool recompute = false) {
  return weft::schedule::lower(weft::schedule::write_table<Policy>(ranks, micro_batches).view(),
                               no_optimizer(recompute));
}

/// A hand-made split-backward row set: all F, all I, then all W, so that every W is late.
program all_weights_last(int stages, int ranks, int micro_batches) {
  program table("custom", weft::topology::stage_graph::chain(stages).place(weft::topology::placement::loop{}, ranks),
                micro_batches, {}, 3 * stages * micro_batches);
  for (int rank = 0; rank < ranks; ++rank) {
    for (int stage = rank; stage < stages; stage += ranks)
      for (int k = 0; k < micro_batches; ++k) table.append(weft::schedule::make_action(op::forward, stage, k));
    for (int stage = rank + (stages - 1 - rank) / ranks * ranks; stage >= 0; stage -= ranks)
      for (int k = 0; k < micro_batches; ++k) table.append(weft::schedule::make_action(op::backward_input, stage, k));
    for (int stage = rank; stage < stages; stage += ranks)
      for (int k = 0; k < micro_batches; ++k) table.append(weft::schedule::make_action(op::backward_weight, stage, k));
    table.end_row();
  }
  return weft::schedule::lower(table.view(), no_optimizer());
}

}  // namespace

TEST_CASE("pipeline: every schedule gives the bits of the serial run") {
  for (int const micro_batches : {1, 2, 3, 5, 8}) {
    auto const serial = run(make<weft::schedule::serial>(1, micro_batches));
    for (int ranks = 1; ranks <= 4; ++ranks) {
      CAPTURE(micro_batches);
      CAPTURE(ranks);
      CHECK(run(make<weft::schedule::gpipe>(ranks, micro_batches)) == serial);
      CHECK(run(make<weft::schedule::one_f_one_b>(ranks, micro_batches)) == serial);
      CHECK(run(make<weft::schedule::zero_bubble_h1>(ranks, micro_batches)) == serial);
      CHECK(run(make<weft::schedule::zero_bubble_h1>(ranks, micro_batches, true)) == serial);
      CHECK(run(make<weft::schedule::gpipe>(ranks, micro_batches, true)) == serial);
      CHECK(run(make<weft::schedule::one_f_one_b>(ranks, micro_batches, true)) == serial);
    }
  }
}

TEST_CASE("pipeline: a program that nobody's policy wrote, with late weight gradients and several stages a rank") {
  auto const serial = run(make<weft::schedule::serial>(1, 4));
  CHECK(run(all_weights_last(1, 1, 4)) == serial);
  CHECK(run(all_weights_last(3, 3, 4)) == serial);
  CHECK(run(all_weights_last(6, 3, 4)) == serial);  // two stages a rank
  CHECK(run(all_weights_last(4, 1, 4)) == serial);  // no messages at all: buffers are handed over
  CHECK(run(all_weights_last(5, 2, 4)) == serial);
}

TEST_CASE("pipeline: B beside I and W on one stage leaves what waits for its W alone") {
  // One rank: I0 waits for its W while B1 runs, and I2 while B3 does.
  program table("mixed", weft::topology::stage_graph::chain(1), 4, {}, 10);
  for (int k = 0; k < 4; ++k) table.append(weft::schedule::make_action(op::forward, 0, k));
  for (int k : {0, 2}) {
    table.append(weft::schedule::make_action(op::backward_input, 0, k));
    table.append(weft::schedule::make_action(op::backward, 0, k + 1));
    table.append(weft::schedule::make_action(op::backward_weight, 0, k));
  }
  table.end_row();
  auto const mixed = run(weft::schedule::lower(table.view(), no_optimizer()));
  // The same order of additions without halves: 1 0 3 2.
  program plain("plain", weft::topology::stage_graph::chain(1), 4, {}, 8);
  for (int k = 0; k < 4; ++k) plain.append(weft::schedule::make_action(op::forward, 0, k));
  for (int k : {1, 0, 3, 2}) plain.append(weft::schedule::make_action(op::backward, 0, k));
  plain.end_row();
  CHECK(mixed == run(weft::schedule::lower(plain.view(), no_optimizer())));
}

TEST_CASE("pipeline: B calls both halves, or backward in one piece, with the same bits") {
  auto const split = run(make<weft::schedule::one_f_one_b>(3, 4));
  CHECK(run<toy::whole_stage>(make<weft::schedule::one_f_one_b>(3, 4)) == split);
}

TEST_CASE("pipeline: k steps accumulate like one step with k times the micro-batches of the same content") {
  auto const once = run(make<weft::schedule::one_f_one_b>(2, 3));
  auto const twice = run(make<weft::schedule::one_f_one_b>(2, 3), {}, 2);
  auto const serial_twice = run(make<weft::schedule::serial>(1, 3), {}, 2);
  CHECK(twice == serial_twice);
  CHECK(twice.weight_gradient[0] == doctest::Approx(2.0 * once.weight_gradient[0]).epsilon(1e-12));
}

TEST_CASE("pipeline: micro-batches of different sizes carry their own element counts") {
  std::function<void(toy::stage&, int)> const uneven = [](toy::stage& stage, int) {
    stage.used_width = [](int micro_batch) { return std::int64_t{micro_batch % 3 == 0 ? 5 : micro_batch % 3}; };
  };
  auto const serial = run(make<weft::schedule::serial>(1, 7), uneven);
  CHECK(serial.losses[1] != run(make<weft::schedule::serial>(1, 7)).losses[1]);
  for (int ranks = 2; ranks <= 4; ++ranks) {
    CHECK(run(make<weft::schedule::one_f_one_b>(ranks, 7), uneven) == serial);
    CHECK(run(make<weft::schedule::gpipe>(ranks, 7), uneven) == serial);
  }
}

TEST_CASE("pipeline: skip connections are ordinary edges") {
  // stages 0..3 on 4 ranks or all on one rank, with skips 0 -> 2 and 0 -> 3
  auto with_skips = [](int ranks, auto policy) {
    using policy_type = decltype(policy);
    auto const chain = weft::schedule::write_table<policy_type>(4, 5);
    program table(
        "skips",
        weft::topology::stage_graph::chain(4).skip(0, 2).skip(0, 3).place(weft::topology::placement::loop{}, ranks), 5,
        {}, 2 * 4 * 5);
    if (ranks == 4) {
      for (int rank = 0; rank < 4; ++rank) {
        for (auto const& each : chain.view().row(rank)) table.append(each);
        table.end_row();
      }
    } else {
      for (int k = 0; k < 5; ++k) {
        for (int stage = 0; stage < 4; ++stage) table.append(weft::schedule::make_action(op::forward, stage, k));
        for (int stage = 3; stage >= 0; --stage) table.append(weft::schedule::make_action(op::backward, stage, k));
      }
      table.end_row();
    }
    return weft::schedule::lower(table.view(), no_optimizer());
  };
  auto const alone = run(with_skips(1, weft::schedule::gpipe{}));
  CHECK(run(with_skips(4, weft::schedule::gpipe{})) == alone);
  CHECK(run(with_skips(4, weft::schedule::one_f_one_b{})) == alone);
  CHECK(alone.losses[0] != run(make<weft::schedule::gpipe>(4, 5)).losses[0]);
}

TEST_CASE("pipeline: stages of a frozen prefix run forward alone, and the others get the same bits") {
  // 4 stages over the 6 layers, on 4 ranks, 2, or 1: edges cross ranks or stay.
  constexpr int stages = 4;
  constexpr int count = 5;
  auto const table_of = [](int ranks, int frozen, bool skips, bool splits) {
    auto graph = weft::topology::stage_graph::chain(stages);
    if (skips) graph.skip(0, 2).skip(1, 3);
    program table("frozen", std::move(graph).place(weft::topology::placement::loop{}, ranks), count,
                  {.frozen_prefix_stages = frozen}, 3 * stages * count);
    for (int rank = 0; rank < ranks; ++rank) {
      for (int k = 0; k < count; ++k)
        for (int stage = rank; stage < stages; stage += ranks)
          table.append(weft::schedule::make_action(op::forward, stage, k));
      for (int k = 0; k < count; ++k)
        for (int stage = rank + (stages - 1 - rank) / ranks * ranks; stage >= frozen; stage -= ranks) {
          table.append(weft::schedule::make_action(splits ? op::backward_input : op::backward, stage, k));
          if (splits) table.append(weft::schedule::make_action(op::backward_weight, stage, k));
        }
      table.end_row();
    }
    return weft::schedule::lower(table.view(), no_optimizer());
  };
  for (bool const skips : {false, true}) {
    auto const trained = run(table_of(1, 0, skips, false));
    for (int const ranks : {1, 2, 4})
      for (int frozen = 1; frozen <= stages; ++frozen)
        for (bool const splits : {false, true}) {
          CAPTURE(ranks);
          CAPTURE(frozen);
          CAPTURE(skips);
          auto const lowered = table_of(ranks, frozen, skips, splits);
          REQUIRE(explain(weft::schedule::play(lowered.view())) == "");
          std::atomic<int> backwards = 0;
          std::atomic<int> wrong = 0;
          auto const found = run<toy::stage>(lowered, [&](toy::stage& stage, int) {
            stage.probe = [&](char pass, toy::context const& where) {
              if (pass == 'I') ++backwards;
              if (pass != 'F' && where.stage() < frozen) ++wrong;
            };
          });
          CHECK(wrong == 0);
          CHECK(backwards == (stages - frozen) * count);
          CHECK(found.losses == trained.losses);
          int const first_layer = frozen * 6 / stages;
          for (int layer = 0; layer < 6; ++layer) {
            auto const at = static_cast<std::size_t>(layer);
            CHECK(found.weight_gradient[at] == (layer < first_layer ? 0.0 : trained.weight_gradient[at]));
            CHECK(found.bias_gradient[at] == (layer < first_layer ? 0.0 : trained.bias_gradient[at]));
          }
        }
  }
  // A frozen stage's input is free after its F: five micro-batches pass through one buffer.
  auto const local = weft::compile_row(table_of(1, 3, false, false).view(), 0);
  int of_first_edge = 0;
  for (auto const& need : local.buffers) of_first_edge += need.edge == 0 ? 1 : 0;
  CHECK(of_first_edge == 1);
}

TEST_CASE("pipeline: a stage with more edges than it has room for is refused on every rank alike") {
  auto const with_edges = [](int extra) {
    auto graph = weft::topology::stage_graph::chain(11);
    for (int source = 0; source < extra; ++source) graph.skip(source, 10);
    program table("many", std::move(graph).place(weft::topology::placement::loop{}, 1), 1, {.backward = false}, 11);
    for (int stage = 0; stage < 11; ++stage) table.append(weft::schedule::make_action(op::forward, stage, 0));
    table.end_row();
    return weft::schedule::lower(table.view(), no_optimizer());
  };
  CHECK(weft::compile_row(with_edges(7).view(), 0).instructions.size() == 11);
  CHECK_THROWS_WITH_AS(
      weft::compile_row(with_edges(8).view(), 0),
      "weft::pipeline: 9 edges or more enter stage 10, and a stage has room for 8; send several tensors over "
      "one edge",
      weft::agreed_error);
}

TEST_CASE("pipeline: a boundary of more than eight tensors is refused") {
  weft::boundary full;
  for (int index = 0; index < weft::boundary::max_components; ++index) full.add(weft::scalar::f32, 1);
  CHECK(full.count == 8);
  CHECK_THROWS_WITH_AS(full.add(weft::scalar::f32, 1),
                       "weft::boundary: an edge carries at most 8 tensors; join tensors of one element type, or spread "
                       "them over several edges",
                       weft::error);
  CHECK(full.count == 8);
}

TEST_CASE("pipeline: forward-only programs keep nothing and touch no gradient") {
  auto const forward = run(make<weft::schedule::forward_only>(3, 5));
  auto const serial = run(make<weft::schedule::serial>(1, 5));
  CHECK(forward.losses == serial.losses);
  CHECK(forward.weight_gradient == std::vector<double>(6, 0.0));
}

TEST_CASE("pipeline: an exception on any rank at any pass ends every rank with its own message") {
  for (auto const& lowered : {make<weft::schedule::one_f_one_b>(3, 4), make<weft::schedule::gpipe>(3, 4)}) {
    for (int failing = 0; failing < 3; ++failing) {
      for (int pass = 0; pass < 12; ++pass) {  // 4 F, 4 I, 4 W
        std::vector<std::string> messages(3);
        auto const view = lowered.view();
        CHECK_THROWS_WITH_AS(in_process::run(3,
                                             [&](endpoint& door) {
                                               toy::stage stage(3, 4);
                                               int passes = 0;
                                               stage.probe = [&](char, toy::context const&) {
                                                 if (door.rank() == failing && passes++ == pass)
                                                   throw std::runtime_error("injected at pass " + std::to_string(pass));
                                               };
                                               weft::pipeline<toy::stage, toy::space> engine(view, door, stage);
                                               try {
                                                 engine.step();
                                                 // A rank that had nothing left to wait for learns of it at its next
                                                 // wait.
                                                 engine.step();
                                               } catch (std::exception const& failure) {
                                                 messages[static_cast<std::size_t>(door.rank())] = failure.what();
                                                 throw;
                                               }
                                             }),
                             doctest::Contains(("injected at pass " + std::to_string(pass)).c_str()), weft::error);
        for (auto const& each : messages)
          CHECK(each.find("injected at pass " + std::to_string(pass)) != std::string::npos);
      }
    }
  }
}

TEST_CASE("pipeline: every request is completed or given up, exactly once") {
  in_process group(2);
  auto const lowered = make<weft::schedule::one_f_one_b>(2, 4);
  auto play = [&](int rank, bool fails) {
    in_process::door door(group, rank);
    toy::stage stage(2, 4);
    if (fails) stage.probe = [](char, toy::context const&) { throw std::runtime_error("stop"); };
    weft::pipeline<toy::stage, toy::space> engine(lowered.view(), door, stage);
    try {
      engine.step();
    } catch (std::exception const&) {
    }
    return std::unique_ptr<in_process::door>();
  };
  {
    std::jthread const other([&] { play(1, false); });
    play(0, false);
  }
  CHECK(group.outstanding() == 0);
  {
    std::jthread const other([&] { play(1, true); });
    play(0, false);
  }
  CHECK(group.outstanding() == 0);
}

TEST_CASE("pipeline: a wait has a deadline and says what it waited for") {
  auto const lowered = make<weft::schedule::one_f_one_b>(2, 2);
  CHECK_THROWS_WITH_AS(
      in_process::run(2,
                      [&](endpoint& door) {
                        toy::stage stage(2, 2);
                        weft::pipeline<toy::stage, toy::space> engine(lowered.view(), door, stage, {.deadline = 0.2});
                        if (door.rank() == 1) engine.step();  // rank 0 never starts
                      }),
      doctest::Contains("rank 1 waited 0 s at F of stage 1, micro-batch 0 for activations from rank 0"), weft::error);
}

TEST_CASE("pipeline: ranks that play different programs are found out by the first wrong message") {
  auto const up = make<weft::schedule::one_f_one_b>(2, 2);
  // the same rows with micro-batches in the other order on rank 0
  program table("reversed", weft::topology::stage_graph::chain(2).place(weft::topology::placement::loop{}, 2), 2, {},
                8);
  for (int stage = 0; stage < 2; ++stage) {
    for (int k : {1, 0}) table.append(weft::schedule::make_action(op::forward, stage, k));
    for (int k : {1, 0}) table.append(weft::schedule::make_action(op::backward, stage, k));
    table.end_row();
  }
  auto const down = weft::schedule::lower(table.view(), no_optimizer());
  CHECK_THROWS_WITH_AS(in_process::run(2,
                                       [&](endpoint& door) {
                                         toy::stage stage(2, 2);
                                         weft::pipeline<toy::stage, toy::space> engine(
                                             door.rank() == 0 ? down.view() : up.view(), door, stage);
                                         engine.step();
                                       }),
                       doctest::Contains("expected the activations of stage 1, micro-batch 0 from rank 0, but the "
                                         "activations of stage 1, micro-batch 1 came"),
                       weft::error);
}

namespace {

/// Gathers and drops its weights where the program says so.
struct sharding_stage : toy::stage {
  using toy::stage::stage;
  std::string calls;
  void unshard(int which) { calls += "gathers " + std::to_string(which) + ' '; }
  void reshard(int which) { calls += "drops " + std::to_string(which) + ' '; }
};

}  // namespace

TEST_CASE("pipeline: refuses, in words, what it cannot play") {
  auto const for_two = make<weft::schedule::gpipe>(2, 2);
  auto const table = weft::schedule::write_table<weft::schedule::gpipe>(1, 2);
  auto const with_step = weft::schedule::lower(weft::schedule::write_table<weft::schedule::serial>(1, 2).view());
  auto const split = all_weights_last(1, 1, 2);
  in_process group(1);
  in_process::door door(group, 0);
  toy::stage stage(1, 2);
  toy::whole_stage whole(1, 2);
  toy::forward_stage forward;
  using split_engine = weft::pipeline<toy::stage, toy::space>;
  using whole_engine = weft::pipeline<toy::whole_stage, toy::space>;
  using forward_engine = weft::pipeline<toy::forward_stage, toy::space>;
  CHECK_THROWS_WITH_AS(split_engine(for_two.view(), door, stage),
                       doctest::Contains("the program is for 2 ranks, but there are 1"), weft::error);
  CHECK_THROWS_WITH_AS(split_engine(table.view(), door, stage), doctest::Contains("call weft::schedule::lower first"),
                       weft::error);
  CHECK_THROWS_WITH_AS(split_engine(with_step.view(), door, stage), doctest::Contains("lower the program without"),
                       weft::error);
  auto const without = [&](weft::schedule::lower_options const& options) {
    auto const lowered =
        weft::schedule::lower(weft::schedule::write_table<weft::schedule::serial>(1, 2).view(), options);
    try {
      split_engine const engine(lowered.view(), door, stage);
    } catch (weft::error const& failure) {
      return std::string(failure.what());
    }
    return std::string("accepted");
  };
  CHECK(
      without({}) ==
      "weft::pipeline: the program has REDUCE_GRAD of stage 0, but the stage has no reduce_gradient(stage, group); add "
      "it, or lower the program without tied parameters");
  CHECK(
      without({.tied = weft::schedule::tied_stages::none, .reduce_over_data = true}) ==
      "weft::pipeline: the program has REDUCE_GRAD of stage 0, but the stage has no reduce_gradient(stage, group); add "
      "it, or lower the program without reduce_over_data");
  CHECK(without({.tied = weft::schedule::tied_stages::none}) ==
        "weft::pipeline: the program has NORM, but the stage has no norm(); add it, or lower the program without an "
        "optimizer step");
  auto const windowed = weft::schedule::passes::unshard_windows(table.view());
  auto const sharded = weft::schedule::passes::assign_slots(windowed.view());
  CHECK_THROWS_WITH_AS(split_engine(sharded.view(), door, stage),
                       "weft::pipeline: the program has UNSHARD of stage 0, but the stage has no unshard(stage), which "
                       "gathers its weights; add it and reshard, or leave out the windows of sharded weights",
                       weft::error);
  sharding_stage gathered(1, 2);
  weft::pipeline<sharding_stage, toy::space> gathering(sharded.view(), door, gathered);
  gathering.step();
  CHECK(gathered.calls == "gathers 0 drops 0 ");
  CHECK_THROWS_WITH_AS(whole_engine(split.view(), door, whole), doctest::Contains("has no backward_input"),
                       weft::error);
  CHECK_THROWS_WITH_AS(forward_engine(make<weft::schedule::serial>(1, 1).view(), door, forward),
                       doctest::Contains("has no backward"), weft::error);
}

namespace {

/// Every element type once, some of it integer; checks what arrives.
struct wide_stage {
  int bad = 0;
  weft::boundary boundary(weft::topology::edge const&) const {
    using weft::scalar;
    return weft::boundary()
        .add(scalar::f64, 3)
        .add(scalar::i32, 5, false)
        .add(scalar::f32, 7)
        .add(scalar::u8, 11, false)
        .add(scalar::i64, 2, false)
        .add(scalar::f32, 0)  // nothing is a legal amount
        .add(scalar::i16, 13, false)
        .add(scalar::f64, 17);
  }
  void prepare(int, weft::schedule::slot_counts const&) {}
  template <class Type>
  static void fill(weft::boundary_view<Kokkos::HostSpace> const& view, int index, int value) {
    auto const data = view.view<Type>(index);
    for (std::size_t element = 0; element < data.extent(0); ++element)
      data(element) = static_cast<Type>(value + static_cast<int>(element));
  }
  template <class Type>
  void check(weft::boundary_view<Kokkos::HostSpace> const& view, int index, int value, std::size_t elements) {
    auto const data = view.view<Type>(index);
    if (data.extent(0) != elements) ++bad;
    for (std::size_t element = 0; element < data.extent(0); ++element)
      if (data(element) != static_cast<Type>(value + static_cast<int>(element))) ++bad;
  }
  void forward(toy::context& where, toy::views const& in, toy::views& out) {
    int const k = where.micro_batch();
    if (!in.empty()) {
      check<double>(in[0], 0, k, 3);
      check<std::int32_t>(in[0], 1, k + 1, 5);
      check<float>(in[0], 2, k + 2, 7);
      check<std::uint8_t>(in[0], 3, k + 3, 11);
      check<std::int64_t>(in[0], 4, k + 4, 2);
      check<float>(in[0], 5, 0, 0);
      check<std::int16_t>(in[0], 6, k + 6, 13);
      check<double>(in[0], 7, k + 7, 17);
    }
    if (out.empty()) return;
    fill<double>(out[0], 0, k);
    fill<std::int32_t>(out[0], 1, k + 1);
    fill<float>(out[0], 2, k + 2);
    fill<std::uint8_t>(out[0], 3, k + 3);
    fill<std::int64_t>(out[0], 4, k + 4);
    fill<std::int16_t>(out[0], 6, k + 6);
    fill<double>(out[0], 7, k + 7);
  }
  void backward(toy::context& where, toy::views const&, toy::views const& gradient_out, toy::views& gradient_in) {
    int const k = where.micro_batch();
    if (!gradient_out.empty()) {
      if (gradient_out[0].count() != 4) ++bad;
      check<double>(gradient_out[0], 0, -k, 3);
      check<float>(gradient_out[0], 1, -k - 1, 7);
      check<double>(gradient_out[0], 3, -k - 3, 17);
    }
    if (gradient_in.empty()) return;
    fill<double>(gradient_in[0], 0, -k);
    fill<float>(gradient_in[0], 1, -k - 1);
    fill<double>(gradient_in[0], 3, -k - 3);
  }
};

}  // namespace

TEST_CASE("pipeline: eight tensors of different types cross one boundary, gradients of the real ones come back") {
  for (char const* const schedule : {"gpipe", "1f1b"}) {
    auto const lowered = weft::schedule::make_program(schedule, 3, 5, no_optimizer());
    std::vector<wide_stage> stages(3);
    in_process::run(3, [&](endpoint& door) {
      weft::pipeline<wide_stage, toy::space> engine(lowered.view(), door,
                                                    stages[static_cast<std::size_t>(door.rank())]);
      for (int step = 0; step < 3; ++step) engine.step();
    });
    for (auto const& each : stages) CHECK(each.bad == 0);
  }
}

TEST_CASE("pipeline: two ranks whose boundaries differ in type or size are found out by the first message") {
  auto const lowered = make<weft::schedule::gpipe>(2, 1);
  struct other_stage : toy::stage {
    using toy::stage::stage;
    weft::boundary layout;
    weft::boundary boundary(weft::topology::edge const&) const { return layout; }
  };
  auto run_with = [&](weft::boundary const& theirs) {
    in_process::run(2, [&](endpoint& door) {
      other_stage stage(2, 1);
      stage.layout = toy::stage(2, 1).boundary({});
      if (door.rank() == 1) stage.layout = theirs;
      weft::pipeline<other_stage, toy::space> engine(lowered.view(), door, stage);
      engine.step();
    });
  };
  CHECK_THROWS_WITH_AS(run_with(weft::boundary().add(weft::scalar::f32, 10).add(weft::scalar::i32, 2, false)),
                       doctest::Contains("the activations of stage 1, micro-batch 0 from rank 0, but its component 0 "
                                         "is f64, where f32 is declared"),
                       weft::error);
  CHECK_THROWS_WITH_AS(run_with(weft::boundary().add(weft::scalar::f64, 4).add(weft::scalar::i32, 40, false)),
                       doctest::Contains("component 0 has 5 elements where 4 are the most"), weft::error);
  CHECK_THROWS_WITH_AS(run_with(weft::boundary().add(weft::scalar::f64, 1).add(weft::scalar::i32, 2, false)),
                       doctest::Contains("component 0 has 5 elements where 1 are the most"), weft::error);
}

TEST_CASE("pipeline: of several pipelines, messages call a rank by its number in the job") {
  auto const lowered = make<weft::schedule::gpipe>(2, 1);
  auto const for_three = make<weft::schedule::gpipe>(3, 1);
  struct other_stage : toy::stage {
    using toy::stage::stage;
    weft::boundary layout;
    weft::boundary boundary(weft::topology::edge const&) const { return layout; }
  };
  auto const failure_of = [&](bool fits, program const& shown) {
    weft::error_location where;
    std::string message;
    try {
      in_process::run(4, [&](endpoint& world) {
        auto const row = weft::transport::make_subgroup(world, {world.rank() / 2 * 2, world.rank() / 2 * 2 + 1});
        other_stage stage(2, 1);
        stage.layout = toy::stage(2, 1).boundary({});
        bool const is_odd = world.rank() == 3;
        if (is_odd && !fits)
          stage.layout = weft::boundary().add(weft::scalar::f32, 10).add(weft::scalar::i32, 2, false);
        weft::pipeline<other_stage, toy::space> engine((is_odd ? shown : lowered).view(), *row, stage);
        engine.step();
      });
    } catch (weft::error const& failure) {
      where = failure.location();
      message = failure.what();
    }
    return std::pair(message, where);
  };
  auto const [message, where] = failure_of(false, lowered);
  CHECK(message ==
        "weft::pipeline: rank 3 expected the activations of stage 1, micro-batch 0 from rank 2, but its component 0 is "
        "f64, where f32 is declared; both ranks must use the same plan and model");
  CHECK(where.rank == 3);
  CHECK(where.peer == 2);
  CHECK(failure_of(true, for_three).second.rank == 3);
  auto const bare = weft::schedule::write_table<weft::schedule::gpipe>(2, 2);
  CHECK_THROWS_WITH_AS(weft::compile_row(bare.view(), 1, 3),
                       "weft::pipeline: rank 3, F of stage 1, micro-batch 0: its input was never received; play the "
                       "program before running it",
                       weft::error);
}

TEST_CASE("pipeline: messages and locations name a stage and a micro-batch where the action has one") {
  struct training : toy::stage {
    using toy::stage::stage;
    char broken = ' ';
    void fail_at(char which) const {
      if (which == broken) throw weft::error("broken");
    }
    void reduce_gradient(int, int) { fail_at('R'); }
    void norm() { fail_at('N'); }
    void step(int) { fail_at('S'); }
  };
  auto const lowered = weft::schedule::lower(weft::schedule::write_table<weft::schedule::serial>(1, 2).view());
  struct expectation {
    char broken;
    char const* message;
    int stage;
    int micro_batch;
  };
  for (auto const& [broken, message, at, micro_batch] :
       {expectation{'F', "rank 0, F of stage 0, micro-batch 0: broken", 0, 0},
        expectation{'R', "rank 0, REDUCE_GRAD of stage 0: broken", 0, -1},
        expectation{'N', "rank 0, NORM: broken", -1, -1}, expectation{'S', "rank 0, STEP of stage 0: broken", 0, -1}}) {
    in_process group(1);
    in_process::door door(group, 0);
    training stage(1, 2);
    stage.broken = broken;
    stage.probe = [&](char what, toy::context const&) { stage.fail_at(what); };
    weft::pipeline<training, toy::space> engine(lowered.view(), door, stage);
    std::string found;
    try {
      engine.step();
    } catch (weft::error const& failure) {
      found = failure.what();
      CHECK(failure.location().rank == 0);
      CHECK(failure.location().stage == at);
      CHECK(failure.location().micro_batch == micro_batch);
    }
    CHECK(found == message);
  }
  in_process group(1);
  in_process::door door(group, 0);
  auto const row = weft::compile_row(lowered.view(), 0).instructions;
  weft::detail::where_at where(door, row);
  CHECK(where.recent_actions() == ", after B0 F1 B1 REDUCE_GRAD NORM STEP");
  where.set(&row.back());
  CHECK(where.recent_actions() == ", after F0 B0 F1 B1 REDUCE_GRAD NORM");
}

TEST_CASE("pipeline: recompute runs every forward exactly twice, once before its backward") {
  for (int ranks = 1; ranks <= 3; ++ranks) {
    std::vector<std::string> orders(static_cast<std::size_t>(ranks));
    std::function<void(toy::stage&, int)> const watch = [&](toy::stage& stage, int rank) {
      stage.probe = [&orders, rank](char what, toy::context const&) { orders[static_cast<std::size_t>(rank)] += what; };
    };
    auto const lowered = make<weft::schedule::one_f_one_b>(ranks, 4, true);
    run(lowered, watch);
    for (auto const& order : orders) {
      CHECK(std::count(order.begin(), order.end(), 'F') == 8);
      CHECK(std::count(order.begin(), order.end(), 'I') == 4);
      for (std::size_t at = 0; at < order.size(); ++at)
        if (order[at] == 'I') CHECK(order.substr(at - 1, 3) == "FIW");
    }
    // With I and W apart: once before I, and W reads what that one left.
    for (auto& order : orders) order.clear();
    auto const split = make<weft::schedule::zero_bubble_h1>(ranks, 4, true);
    run(split, watch);
    for (std::size_t rank = 0; rank < orders.size(); ++rank) {
      auto const& order = orders[rank];
      CHECK(std::count(order.begin(), order.end(), 'F') == 8);
      CHECK(std::count(order.begin(), order.end(), 'I') == 4);
      CHECK(std::count(order.begin(), order.end(), 'W') == 4);
      for (std::size_t at = 0; at < order.size(); ++at)
        if (order[at] == 'I') CHECK(order[at - 1] == 'F');
      if (rank > 0) CHECK(order.find("FIW") > order.find("I"));  // the first W comes after a later I
    }
  }
}

TEST_CASE("pipeline: after a failure it is spent, and says so") {
  auto const lowered = make<weft::schedule::serial>(1, 2);
  in_process group(1);
  in_process::door door(group, 0);
  toy::stage stage(1, 2);
  bool is_broken = true;
  stage.probe = [&](char, toy::context const&) {
    if (is_broken) throw weft::error("broken");
  };
  weft::pipeline<toy::stage, toy::space> engine(lowered.view(), door, stage);
  CHECK_THROWS_WITH_AS(engine.step(), "rank 0, F of stage 0, micro-batch 0: broken", weft::error);
  is_broken = false;
  CHECK_THROWS_WITH_AS(engine.step(), doctest::Contains("an earlier step of this pipeline failed"), weft::error);
}

TEST_CASE("pipeline: a boundary that is none is refused, and views stay inside theirs") {
  struct odd_stage : toy::stage {
    using toy::stage::stage;
    weft::boundary layout;
    weft::boundary boundary(weft::topology::edge const&) const { return layout; }
  };
  auto const lowered = make<weft::schedule::gpipe>(2, 1);
  auto message_of = [&](weft::boundary const& layout) {
    std::string message;
    try {
      in_process group(2);
      in_process::door door(group, 0);
      odd_stage stage(2, 1);
      stage.layout = layout;
      weft::pipeline<odd_stage, toy::space> const engine(lowered.view(), door, stage);
    } catch (weft::error const& failure) {
      message = failure.what();
    }
    return message;
  };
  CHECK(message_of(weft::boundary().add(weft::scalar::f64, std::int64_t{1} << 61U)).find("elements, where 0 to") !=
        std::string::npos);
  CHECK(message_of(weft::boundary().add(weft::scalar::f64, -5)).find("has -5 elements") != std::string::npos);
  CHECK(message_of(weft::boundary().add(static_cast<weft::scalar>(77), 1)).find("no known element type") !=
        std::string::npos);
  weft::boundary many;
  many.count = 9;
  CHECK(message_of(many).find("it has 9 components") != std::string::npos);

  weft::boundary const layout = weft::boundary().add(weft::scalar::f64, 4);
  double numbers[8] = {};
  weft::boundary_view<Kokkos::HostSpace> view(reinterpret_cast<std::byte*>(numbers), &layout);
  CHECK_THROWS_WITH_AS(view.set_elements(1, 1), doctest::Contains("there is no component 1"), weft::error);
  CHECK_THROWS_WITH_AS(view.set_elements(0, 5), doctest::Contains("cannot hold 5 elements"), weft::error);
  CHECK_THROWS_WITH_AS(static_cast<void>(view.view<double>(0, std::int64_t{1} << 33U, std::int64_t{1} << 33U)),
                       doctest::Contains("has 4 elements, not"), weft::error);
  CHECK_THROWS_AS(static_cast<void>(view.view<float>(0)), weft::error);
}
