// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/plan/plan.hpp>
#include <weft/plan/proof.hpp>
#include <weft/plan/rank_capacities.hpp>
#include <weft/schedule/chimera.hpp>
#include <weft/schedule/interleaved_1f1b.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/one_f_one_b.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using weft::memory_of_rank;
using weft::partition_of;
using weft::rank_capacities;
using weft::topology::layer_range;
using weft::topology::partition;
namespace schedule = weft::schedule;

namespace {

struct shape {
  int tokens = 4;
};

/// An embedding that computes nothing, blocks, and a head as heavy as so many thousandths of a block.
template <int Blocks, int Head>
struct blocks_and_head {
  static constexpr int layer_count = Blocks + 2;
  static constexpr bool is_end(int layer) { return layer == 0 || layer + 1 == layer_count; }
  static constexpr std::int64_t parameter_count(int layer) { return is_end(layer) ? 500 : 200; }
  static constexpr std::int64_t flops(int layer, shape) { return layer == 0 ? 0 : is_end(layer) ? Head : 1000; }
  static constexpr std::int64_t activation_bytes(int, shape of) { return 100 * of.tokens; }
  static constexpr std::int64_t workspace_bytes(int layer, shape) { return 10 * layer; }
  static constexpr std::int64_t boundary_elements(shape of) { return 8 * of.tokens; }
};

std::vector<int> sizes(partition const& layers) {
  std::vector<int> result;
  for (auto const& range : layers) result.push_back(range.size());
  return result;
}

template <class Call>
std::string why(Call&& call) {
  try {
    static_cast<void>(call());
  } catch (weft::error const& found) {
    return found.what();
  }
  return "";
}

}  // namespace

TEST_CASE("rank capacities: the splits that were published, by flops and speeds (arXiv 2602.18007)") {
  auto const program = schedule::make_program<schedule::one_f_one_b>(2, 16);
  // LLaMA-8B by TFLOP/s alone; Qwen2-7B by what the mixed system reaches of either vendor's. NVIDIA is first.
  auto const llama = partition_of<blocks_and_head<32, 2409>>(program.view(), shape{}, {.speeds = {549.7, 534.9}});
  CHECK(sizes(llama) == std::vector<int>{1 + 17, 15 + 1});
  auto const qwen =
      partition_of<blocks_and_head<28, 2339>>(program.view(), shape{}, {.speeds = {1.0 / 0.94, 1.0 / 1.023}});
  CHECK(sizes(qwen) == std::vector<int>{1 + 16, 12 + 1});
  // While compiling, as a policy of a plan.
  using plan = weft::plan<schedule::one_f_one_b, weft::pipeline_ranks<2>, weft::micro_batches<16>,
                          weft::rank_speeds<5497, 5349>>;
  using found = weft::proof<plan, blocks_and_head<32, 2409>, shape{}>;
  static_assert(found::layers()[0].size() == 18 && found::layers()[1].size() == 16);
  // Where nothing is said about the ranks it is the partition that stages alone decide.
  CHECK(sizes(partition_of<blocks_and_head<32, 2409>>(program.view(), shape{}, rank_capacities{})) ==
        sizes(partition_of<blocks_and_head<32, 2409>>(2, shape{})));
}

TEST_CASE("rank capacities: the fastest partition among those that fit, of all there are") {
  using model = blocks_and_head<5, 1700>;
  auto const program = schedule::make_program<schedule::one_f_one_b>(3, 6);
  auto const slowest = [](partition const& layers, std::vector<double> const& speeds) {
    double worst = 0.0;
    for (int stage = 0; stage < 3; ++stage) {
      double sum = 0.0;
      for (int layer = layers[stage].first; layer < layers[stage].last; ++layer)
        sum += static_cast<double>(model::flops(layer, {}));
      worst = std::max(worst, sum / speeds[static_cast<std::size_t>(stage)]);
    }
    return worst;
  };
  int refused = 0;
  int moved = 0;
  for (auto const& speeds : {std::vector<double>{1, 1, 1}, std::vector<double>{3, 1, 2}, std::vector<double>{1, 5, 1}})
    for (std::int64_t const first : {9000, 12000, 20000, 90000})
      for (std::int64_t const second : {8000, 20000, 90000})
        for (std::int64_t const third : {12000, 16000, 90000}) {
          rank_capacities const given{.speeds = speeds, .memory = {first, second, third}};
          double best = 1e300;
          for (int one = 1; one < 7; ++one)
            for (int two = 0; one + two < 7; ++two) {
              auto const layers = partition::of({one, two, 7 - one - two}, 7);
              bool fits = true;
              for (int rank = 0; rank < 3; ++rank)
                fits = fits && memory_of_rank<model>(program.view(), layers, shape{}, rank).total() <=
                                   given.memory[static_cast<std::size_t>(rank)];
              if (fits) best = std::min(best, slowest(layers, speeds));
            }
          CAPTURE(first);
          CAPTURE(second);
          CAPTURE(third);
          if (best == 1e300) {
            ++refused;
            CHECK(why([&] { return partition_of<model>(program.view(), shape{}, given); }).find("memory for") !=
                  std::string::npos);
          } else {
            auto const made = partition_of<model>(program.view(), shape{}, given);
            CHECK(slowest(made, speeds) == best);
            auto const free = partition_of<model>(program.view(), shape{}, rank_capacities{.speeds = speeds});
            moved += sizes(made) != sizes(free) ? 1 : 0;
          }
        }
  CHECK(refused > 0);
  CHECK(moved > 0);
}

TEST_CASE("rank capacities: several stages on a rank, two copies of a stage") {
  using model = blocks_and_head<14, 1000>;
  // Rank 0 holds stages 0 and 2, rank 1 stages 1 and 3, and is three times as fast.
  auto const looped = schedule::make_program<schedule::interleaved_1f1b<2>>(2, 8);
  auto const made = partition_of<model>(looped.view(), shape{}, {.speeds = {1.0, 3.0}});
  CHECK(made[1].size() + made[3].size() > 2 * (made[0].size() - 1 + made[2].size()));
  auto const text = why([&] {
    return partition_of<model>(looped.view(), shape{}, {.speeds = {1.0, 3.0}, .memory = {1 << 20, 9000}});
  });
  CHECK(text.find("weft::plan: rank 1 needs ") == 0);
  CHECK(text.find(" bytes of 9000 for the 2 stages that its speed gives it; name layers per stage") !=
        std::string::npos);
  // Both copies of a stage go over two ranks, of which the slower counts: all stages are equally slow.
  auto const both = schedule::make_program<schedule::chimera>(2, 4);
  CHECK(sizes(partition_of<model>(both.view(), shape{}, {.speeds = {1.0, 3.0}})) ==
        sizes(partition_of<model>(2, shape{})));
}

TEST_CASE("rank capacities: what cannot be is refused with its numbers") {
  using model = blocks_and_head<6, 1000>;
  auto const program = schedule::make_program<schedule::one_f_one_b>(2, 4);
  auto const refused = [&](rank_capacities const& given) {
    return why([&] { return partition_of<model>(program.view(), shape{}, given); });
  };
  CHECK(refused({.speeds = {1.0, 2.0, 3.0}}) ==
        "weft::plan: 3 speeds for 2 ranks of a pipeline; give one for each of them");
  CHECK(refused({.memory = {1000}}) ==
        "weft::plan: 1 memory limits for 2 ranks of a pipeline; give one for each of them");
  CHECK(refused({.speeds = {1.0, 0.0}}).find("weft::plan: the speed of rank 1 is 0.000000; give a number above 0") ==
        0);
  CHECK(refused({.speeds = {1.0, -2.0}}).find("the speed of rank 1 is -2") != std::string::npos);
  CHECK(refused({.memory = {0, 9}}) == "weft::plan: rank 0 may use 0 bytes; give a number above 0");
  CHECK(refused({.memory = {1 << 20, 1000}})
            .find("weft::partition: the stages before stage 1 have memory for the first 7 of 8 layers, and stage 1 has "
                  "none for those that follow") == 0);
  CHECK(refused({.memory = {30000, 30000}})
            .find("weft::partition: the stages before stage 1 have memory for the first ") == 0);
  CHECK(refused({.memory = {1000, 1 << 20}}).find("weft::partition: stage 0 has no memory for even one") == 0);
}
