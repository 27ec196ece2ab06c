// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/plan/all.hpp>
#include <weft/schedule/digest.hpp>

#include <compile_fail/harness/flat_model.hpp>

using namespace weft;

namespace {

using fixed = plan<micro_batches<8>, schedule::one_f_one_b, pipeline_ranks<4>>;
using open = plan<schedule::gpipe, micro_batches<dynamic>, schedule::recompute::full,
                  mesh<axis<pipeline_axis, dynamic>, axis<data_axis, 1>>>;
using with_data = plan<schedule::one_f_one_b, micro_batches<4>, mesh<axis<pipeline_axis, 2>, axis<data_axis, dynamic>>>;

static_assert(fixed::known_while_compiling && !open::known_while_compiling);
static_assert(fixed::report.peak_activations == 4 && fixed::report.largest_tag == 5);
static_assert(fixed::report.idle_share == 9.0 / 33.0);
static_assert(fixed::report.order == schedule::accumulation::ascending);
static_assert(schedule::play(fixed::view(), schedule::send_model::buffered).playable());

std::string why(auto&& make) {
  try {
    make();
  } catch (error const& found) {
    return found.what();
  }
  return "";
}

}  // namespace

TEST_CASE("plan: what was made while compiling equals what is made at start-up") {
  auto const now = fixed::program(4);
  CHECK(schedule::digest(now.view()) == schedule::digest(fixed::view()));
  CHECK(std::string(fixed::view().name) == "1f1b");
  for (int stage = 0; stage < 4; ++stage) {
    CHECK(fixed::view().slots[stage].activation == now.view().slots[stage].activation);
    CHECK(fixed::view().slots[stage].receive_forward == now.view().slots[stage].receive_forward);
    CHECK(fixed::view().slots[stage].send_backward == now.view().slots[stage].send_backward);
  }
  auto const report = make_report(now.view());
  CHECK(report.idle_share == doctest::Approx(fixed::report.idle_share));
  CHECK(report.actions == fixed::report.actions);
  CHECK(report.peak_activations == fixed::report.peak_activations);
}

TEST_CASE("plan: the order of the policies does not matter") {
  using other = plan<pipeline_ranks<4>, schedule::one_f_one_b, micro_batches<8>>;
  CHECK(schedule::digest(other::view()) == schedule::digest(fixed::view()));
}

TEST_CASE("plan: recompute, no_optimizer and no_tied_parameters change the rows") {
  using lean = plan<pipeline_ranks<2>, schedule::one_f_one_b, micro_batches<4>, schedule::recompute::full>;
  static_assert(lean::report.peak_activations == 1 && lean::report.peak_in_flight == 2);
  using bare = plan<pipeline_ranks<2>, schedule::one_f_one_b, micro_batches<4>, no_optimizer>;
  using untied = plan<pipeline_ranks<2>, schedule::one_f_one_b, micro_batches<4>, no_tied_parameters>;
  auto const count = [](schedule::program_view const& view, schedule::op what) {
    int found = 0;
    for (auto const& cell : view.row(0)) found += cell.what == what;
    return found;
  };
  CHECK(count(lean::view(), schedule::op::recompute) == 4);
  CHECK(count(lean::view(), schedule::op::reduce_gradient) == 1);
  CHECK(count(bare::view(), schedule::op::step) == 0);
  CHECK(count(bare::view(), schedule::op::reduce_gradient) == 0);
  CHECK(count(untied::view(), schedule::op::step) == 1);
  CHECK(count(untied::view(), schedule::op::reduce_gradient) == 0);
}

TEST_CASE("plan: post_validated is proved as any other plan is, large ones by induction") {
  using after = plan<pipeline_ranks<4>, schedule::zero_bubble_h2, micro_batches<12>, post_validated>;
  static_assert(after::view().work.post_validated);
  using large = plan<pipeline_ranks<4>, schedule::zero_bubble_h2, micro_batches<512>, post_validated>;
  static_assert(large::report.peak_activations == after::report.peak_activations);
  auto const made = large::program(4);
  CHECK(schedule::play(made.view()).playable());
  CHECK(made.view().work.post_validated);
}

TEST_CASE("plan: held_to names the send model that the proof plays under") {
  using buffered =
      plan<schedule::one_f_one_b, pipeline_ranks<4>, micro_batches<8>, held_to<schedule::send_model::buffered>>;
  static_assert(buffered::report.peak_activations == 4);
  CHECK(schedule::play(buffered::view(), schedule::send_model::buffered).playable());
  CHECK(schedule::digest(buffered::view()) == schedule::digest(fixed::view()));
  CHECK(schedule::digest(buffered::program(4).view()) == schedule::digest(buffered::view()));
}

TEST_CASE("plan: dynamic ranks and counts are checked at start-up, with the same words") {
  CHECK(open::program(3, 5).view().ranks() == 3);
  CHECK(why([] { return open::program(3, 0); }) ==
        "weft::schedule::gpipe: there is no micro-batch to run; use micro_batches 1 or more (asked for 0, nearest "
        "legal 1)");
  CHECK(why([] { return open::program(3); }).find("no count was given") != std::string::npos);
  CHECK(why([] { return open::program(0, 4); }).find("weft::mesh: ") == 0);
  CHECK(why([] { return fixed::program(5); }) == "weft::mesh: pipeline 4 needs 4 ranks, not 5; start 4");
  CHECK(why([] { return fixed::program(4, 9); }).find("micro_batches<8>, not 9") != std::string::npos);
  CHECK(with_data::program(2).view().ranks() == 2);
  CHECK(with_data::program(6).view().ranks() == 2);
  CHECK(with_data::program(6).view().work.reduces_over_data);
  using with_tensor =
      plan<schedule::gpipe, weft::micro_batches<4>,
           weft::mesh<weft::axis<weft::pipeline_axis, 2>, weft::axis<weft::tensor_axis, weft::dynamic>>>;
  CHECK(with_tensor::program(2).view().ranks() == 2);
  CHECK(why([] { return with_tensor::program(4); }).find(WEFT_WORDS_UNUSED_AXIS " (axis tensor has 2)") !=
        std::string::npos);
}

TEST_CASE("plan: the data axis may come when the program starts, and the pipeline is proved all the same") {
  using open_data = plan<schedule::one_f_one_b, weft::micro_batches<8>, weft::reduce_gradients<weft::collective::ring>,
                         weft::mesh<weft::axis<weft::pipeline_axis, 4>, weft::axis<weft::data_axis, weft::dynamic>>>;
  static_assert(open_data::known_while_compiling && open_data::data_ranks == weft::dynamic);
  static_assert(open_data::report.peak_activations == 4 && open_data::report.ranks == 4);
  static_assert(open_data::view().work.reduces_over_data);
  using by_vendor =
      plan<schedule::one_f_one_b, weft::micro_batches<8>, weft::reduce_gradients<weft::collective::device_library>,
           weft::mesh<weft::axis<weft::pipeline_axis, 4>, weft::axis<weft::data_axis, weft::dynamic>>>;
  static_assert(by_vendor::view().work.reduces_over_data);
  CHECK(weft::collective::all_reduce_choice(by_vendor::reduction::name).is_device_library());
  using by_vendors =
      plan<schedule::one_f_one_b, weft::micro_batches<8>, weft::reduce_gradients<weft::collective::vendor_hierarchy>,
           weft::mesh<weft::axis<weft::pipeline_axis, 4>, weft::axis<weft::data_axis, weft::dynamic>>>;
  static_assert(by_vendors::view().work.reduces_over_data);
  using sums = weft::collective::all_reduce_choice;
  CHECK(sums(by_vendors::reduction::name).is_by_vendor());
  CHECK(!sums(by_vendors::reduction::name).is_device_library());
  CHECK(!sums(by_vendor::reduction::name).is_by_vendor());
  CHECK(sums("mpi").kind() == sums::kind_type::mpi);
  CHECK(sums(open_data::reduction::name).kind() == sums::kind_type::step_list);
  auto const last = open_data::view().row(3);
  CHECK(last[last.size - 4].group == static_cast<int>(schedule::reduction::data));
  CHECK(last[last.size - 3].group == static_cast<int>(schedule::reduction::tied));
  CHECK(schedule::digest(open_data::view()) == schedule::digest(open_data::program(12).view()));
  CHECK(why([] { return open_data::program(6); }) ==
        "weft::mesh: pipeline 4 x data dynamic needs a multiple of 4 ranks, not 6; start 4 or 8");
  using one = plan<schedule::one_f_one_b, weft::micro_batches<8>,
                   weft::mesh<weft::axis<weft::pipeline_axis, 4>, weft::axis<weft::data_axis, 1>>>;
  static_assert(!one::view().work.reduces_over_data);
}

TEST_CASE("plan: every shape up to 6 x 9 is the same by both ways") {
  auto const compare = []<int Ranks, int Count>() {
    using here = plan<schedule::one_f_one_b, pipeline_ranks<Ranks>, weft::micro_batches<Count>>;
    CHECK(schedule::digest(here::view()) == schedule::digest(here::program(Ranks).view()));
    CHECK(here::report.peak_activations == std::min(Ranks, Count));
  };
  compare.operator()<1, 1>();
  compare.operator()<1, 5>();
  compare.operator()<3, 1>();
  compare.operator()<4, 2>();
  compare.operator()<5, 9>();
  compare.operator()<6, 6>();
}

TEST_CASE("proof: bytes by purpose, on the heaviest rank") {
  using found = proof<fixed, flat_model, flat_extents{16}, float>;
  // By cost: the head (3 units) alone, the others 2, 2, 1.
  auto const layers = found::layers();
  CHECK(layers.layers() == 6);
  std::int64_t most = 0;
  for (int rank = 0; rank < 4; ++rank) {
    auto const needs = found::of_rank(rank);
    std::int64_t parameters = 0;
    for (int layer = layers[rank].first; layer < layers[rank].last; ++layer)
      parameters += 4 * flat_model::parameter_count(layer);
    CHECK(needs.parameters == 2 * parameters);
    CHECK(needs.gradients == parameters);
    CHECK(needs.optimizer == 4 * parameters);
    CHECK(needs.activations == std::int64_t{4 - rank} * layers[rank].size() * 40 * 16);
    CHECK(needs.workspace == (layers[rank].size() > 0 ? 8 * 16 : 0));
    CHECK(needs.total() > 0);
    most = std::max(most, needs.total());
  }
  CHECK(found::bytes_per_rank == most);
  CHECK(found::heaviest.rank == 0);
  // A wire buffer: 128 bytes before 160 floats.
  auto const& slots = fixed::view().slots[1];
  CHECK(found::of_rank(1).wire ==
        (128 + 640) * (slots.receive_forward + slots.send_backward + slots.send_forward + slots.receive_backward));
}

TEST_CASE("proof: explicit layers, and a limit at start-up") {
  using split =
      plan<schedule::one_f_one_b, pipeline_ranks<4>, micro_batches<8>, stage_layers<2, 0, 2, 2>, memory_limit<mib(1)>>;
  using found = proof<split, flat_model, flat_extents{16}>;
  static_assert(found::bytes_per_rank < mib(1));
  CHECK(found::layers()[1].size() == 0);
  CHECK(found::of_rank(1).parameters == 0);
  CHECK(found::of_rank(1).wire > 0);
  auto const program = open::program(4, 8);
  auto const layers = partition_of<flat_model>(4, flat_extents{16});
  CHECK(check_memory<flat_model>(program.view(), layers, flat_extents{16}, mib(1)).rank == 0);
  auto const text = why([&] { return check_memory<flat_model>(program.view(), layers, flat_extents{16}, 1000); });
  CHECK(text.find("weft::plan: " WEFT_WORDS_MEMORY_LIMIT) == 0);
  CHECK(text.find("(rank 0 needs ") != std::string::npos);
}
