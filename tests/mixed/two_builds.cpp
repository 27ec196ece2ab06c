// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Built twice, and started together: `mpiexec -n 2 left : -n 2 right`. WEFT_MIXED_BUILD names the build;
// WEFT_MIXED_LEFT makes it the one that stores arrays by columns and computes in memory that its host may not touch, as
// a device would.
#include "support/device_like_door.hpp"
#include "support/tiny_training.hpp"

#include <weft/pipeline/logical_order.hpp>
#include <weft/pipeline/pipeline.hpp>
#include <weft/plan/plan.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>
#include <weft/transport/device_aware.hpp>
#include <weft/transport/mpi.hpp>
#include <weft/transport/staged.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace {

using weft::bfloat16;
using weft::scalar;
using space = Kokkos::DefaultHostExecutionSpace;
using memory = space::memory_space;
#ifdef WEFT_MIXED_LEFT
using layout = Kokkos::LayoutLeft;
constexpr bool is_left = true;
constexpr int padding = 3;
#else
using layout = Kokkos::LayoutRight;
constexpr bool is_left = false;
constexpr int padding = 0;
#endif
constexpr char const* build = WEFT_MIXED_BUILD;

int worst(int value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

constexpr int rows = 5, columns = 7, micro_batches = 4;

double sample(int micro_batch, int row, int column) {
  return std::sin(1.0 + 3.7 * micro_batch + 0.9 * row - 0.4 * column);
}
double shift(int stage, int row, int column) { return 0.01 * (stage + 1) * (columns * row + column) - 0.1; }
constexpr double weight = 0.6;

/// y = tanh(0.6 x + shift), where shift depends on stage, row and column: a matrix that arrives transposed or shifted
/// by its neighbour's padding gives other numbers. Loss: sum(y^2) / 2.
class matrix_stage {
 public:
  explicit matrix_stage(int stages) : last_(stages - 1), losses(micro_batches), gradient(1) {}

  scalar edge_type = scalar::f64;

  weft::boundary boundary(weft::topology::edge const&) const { return weft::boundary().add(edge_type, rows * columns); }
  void prepare(int, weft::schedule::slot_counts const& slots) {
    for (int index = static_cast<int>(inputs_.size()); index < slots.activation; ++index) {
      inputs_.push_back(made());
      outputs_.push_back(made());
    }
    for (int index = static_cast<int>(passed_.size()); index < (std::max)(1, slots.weight_context); ++index)
      passed_.push_back(made());
  }
  void forward(weft::stage_context<space>& where, weft::boundary_views<memory> const& in,
               weft::boundary_views<memory>& out) {
    auto const& x = at(inputs_, where.slot());
    auto const& y = at(outputs_, where.slot());
    if (!in.empty()) take(where, in[0], x);
    double loss = 0.0;
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        if (in.empty()) x(row, column) = sample(where.micro_batch(), row, column);
        double const value = std::tanh(weight * x(row, column) + shift(where.stage(), row, column));
        y(row, column) = value;
        loss += 0.5 * value * value;
      }
    if (where.stage() == last_) losses[static_cast<std::size_t>(where.micro_batch())] = loss;
    if (!out.empty()) give(where, y, out[0]);
  }
  void backward_input(weft::stage_context<space>& where, weft::boundary_views<memory> const&,
                      weft::boundary_views<memory> const& grad_out, weft::boundary_views<memory>& grad_in) {
    auto const& y = at(outputs_, where.slot());
    auto const& d = at(passed_, where.weight_slot());
    if (!grad_out.empty()) take(where, grad_out[0], d);
    auto const below = made();
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        double const above = grad_out.empty() ? y(row, column) : d(row, column);
        d(row, column) = above * (1.0 - y(row, column) * y(row, column));
        below(row, column) = d(row, column) * weight;
      }
    if (!grad_in.empty()) give(where, below, grad_in[0]);
  }
  void backward_weight(weft::stage_context<space>& where, weft::boundary_views<memory> const&,
                       weft::boundary_views<memory> const&) {
    auto const& x = at(inputs_, where.slot());
    auto const& d = at(passed_, where.weight_slot());
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) gradient[0] += d(row, column) * x(row, column);
  }

 private:
  using whole_array = Kokkos::View<double**, layout, memory>;
  using array = decltype(Kokkos::subview(std::declval<whole_array>(), std::pair(0, 1), std::pair(0, 1)));
  static array made() {
    whole_array const whole("matrix", rows + 2 * padding, columns + padding);
    return Kokkos::subview(whole, std::pair(padding, padding + rows), std::pair(0, columns));
  }
  static array const& at(std::vector<array> const& all, int slot) { return all.at(static_cast<std::size_t>(slot)); }
  void take(weft::stage_context<space>& where, weft::boundary_view<memory> const& in, array const& to) const {
    if (edge_type == scalar::f64)
      weft::from_wire<double>(where.space(), in, 0, to);
    else
      weft::from_wire<bfloat16>(where.space(), in, 0, to);
    where.space().fence();
  }
  void give(weft::stage_context<space>& where, array const& from, weft::boundary_view<memory>& out) const {
    if (edge_type == scalar::f64)
      weft::to_wire<double>(where.space(), from, out, 0);
    else
      weft::to_wire<bfloat16>(where.space(), from, out, 0);
    where.space().fence();
  }

  int last_;
  std::vector<array> inputs_, outputs_, passed_;

 public:
  std::vector<double> losses;
  std::vector<double> gradient;
};

/// The same by loops over plain arrays: gradients of all stages, then the losses.
std::vector<double> by_hand(int stages, scalar edge_type) {
  auto const on_edge = [&](double value) {
    return edge_type == scalar::f64 ? value
                                    : static_cast<double>(static_cast<float>(bfloat16(static_cast<float>(value))));
  };
  std::vector<double> gradients(static_cast<std::size_t>(stages)), losses;
  for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    std::vector<std::vector<double>> x(static_cast<std::size_t>(stages)), y(static_cast<std::size_t>(stages));
    for (std::size_t stage = 0; stage < x.size(); ++stage)
      for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column) {
          auto const place = static_cast<std::size_t>(row * columns + column);
          x[stage].push_back(stage == 0 ? sample(micro_batch, row, column) : on_edge(y[stage - 1][place]));
          y[stage].push_back(std::tanh(weight * x[stage][place] + shift(static_cast<int>(stage), row, column)));
        }
    double loss = 0.0;
    for (double const value : y.back()) loss += 0.5 * value * value;
    losses.push_back(loss);
    std::vector<double> above = y.back();
    for (std::size_t stage = x.size(); stage-- > 0;)
      for (std::size_t place = 0; place < above.size(); ++place) {
        double const d = above[place] * (1.0 - y[stage][place] * y[stage][place]);
        gradients[stage] += d * x[stage][place];
        above[place] = on_edge(d * weight);
      }
  }
  gradients.insert(gradients.end(), losses.begin(), losses.end());
  return gradients;
}

struct trained {
  std::vector<double> losses;
  std::string refusal;
  friend bool operator==(trained const&, trained const&) = default;
};

trained train(weft::transport::endpoint& door, weft::transport::mixed_rules const& rules) {
  using tiny_training::length;
  using tiny_training::sequences;
  trained result;
  try {
    weft::train::trainer_options options;
    options.extents = {3, length};
    options.learning_rate = {1e-2, 2, 8, 0.1};
    options.seed = 5;
    options.deadline = 60.0;
    options.build = {{{"build", build}}, "MPI"};
    options.mixed = rules;
    weft::train::trainer<tiny_training::tiny, float, space> trainer(
        tiny_training::program_of({.schedule = "1f1b", .ranks = door.size()}, door.size()), door, options);
    for (int step = 0; step < 4; ++step) {
      token_source const batch(tiny_training::tiny::vocabulary, sequences, length, static_cast<unsigned>(step));
      result.losses.push_back(trainer.step(batch.view(3, static_cast<std::uint64_t>(step))).loss);
    }
  } catch (weft::agreed_error const& failure) {
    result.refusal = failure.what();
  }
  return result;
}

}  // namespace

TEST_CASE("mixed: ranks that store by rows and by columns, padded and not, exchange right values") {
  int wrong = 0;
  {
    weft::transport::mpi world(MPI_COMM_WORLD);
    int const ranks = world.size();
    auto const lowered =
        weft::schedule::lower(weft::schedule::write_table<weft::schedule::zero_bubble_h1>(ranks, micro_batches).view(),
                              {.tied = weft::schedule::tied_stages::none, .optimizer = false});
    for (scalar const type : {scalar::f64, scalar::bf16}) {
      matrix_stage stage(ranks);
      stage.edge_type = type;
      weft::pipeline<matrix_stage, space> engine(lowered.view(), world, stage);
      engine.step();
      auto const wanted = by_hand(ranks, type);
      if (stage.gradient[0] != wanted[static_cast<std::size_t>(world.rank())]) wrong |= 1;
      for (int index = 0; index < micro_batches && world.rank() == ranks - 1; ++index)
        if (stage.losses[static_cast<std::size_t>(index)] != wanted[static_cast<std::size_t>(ranks + index)])
          wrong |= 2;
    }
  }
  CHECK(worst(wrong) == 0);
}

TEST_CASE("mixed: builds that declare an edge in different types are told so, and none hangs") {
  int wrong = 0;
  {
    // As weft::environment does: MPI tells this handler of a message that is too long, whatever the communicator's own.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    weft::transport::mpi world(MPI_COMM_WORLD);
    int const ranks = world.size();
    auto const lowered =
        weft::schedule::lower(weft::schedule::write_table<weft::schedule::zero_bubble_h1>(ranks, micro_batches).view(),
                              {.tied = weft::schedule::tied_stages::none, .optimizer = false});
    matrix_stage stage(ranks);
    stage.edge_type = is_left ? scalar::bf16 : scalar::f64;
    weft::pipeline<matrix_stage, space> engine(lowered.view(), world, stage, {.deadline = 60.0});
    std::string words;
    try {
      engine.step();
      engine.step();
    } catch (weft::error const& failure) {
      words = failure.what();
    }
    // The longer message does not fit where the shorter one is declared, and MPI says so first.
    bool const names = words.find("its component 0 is bf16, where f64 is declared") != std::string::npos ||
                       words.find("or name other element types") != std::string::npos;
    wrong = names ? 0 : 1;
  }
  CHECK(worst(wrong) == 0);
}

TEST_CASE("mixed: ranks of two builds train where that is allowed, like one, and every time alike") {
  trained one;
  weft::transport::in_process::run(1, [&](auto& door) { one = train(door, {}); });
  trained first, second, refused, half;
  {
    weft::transport::mpi world(MPI_COMM_WORLD);
    first = train(world, {.several_builds = true});
    second = train(world, {.several_builds = true});
    refused = train(world, {});
    half = train(world, {.several_builds = is_left});
  }
  int wrong = 0;
  if (first.losses.size() != 4 || !(first == second)) wrong |= 1;
  if (!(std::fabs(first.losses.at(0) - one.losses.at(0)) <= 1e-5)) wrong |= 2;
  if (!(first.losses.at(3) < first.losses.at(0))) wrong |= 4;
  if (refused.refusal.find("build is \"") == std::string::npos ||
      refused.refusal.find("allow a mixed job (trainer_options::mixed)") == std::string::npos)
    wrong |= 8;
  if (half.refusal.find("a mixed job is \"") == std::string::npos) wrong |= 16;
  CHECK(worst(wrong) == 0);
}

TEST_CASE("mixed: ranks whose memory no host may touch beside plain ones, edges staged and direct: the direct bits") {
  int wrong = 0;
  {
    weft::transport::mpi world(MPI_COMM_WORLD);
    auto const direct = train(world, {.several_builds = true});
    char const own = is_left ? 1 : 0;
    std::vector<char> guarded(static_cast<std::size_t>(world.size()));
    weft::transport::all_gather(world, &own, 1, guarded.data());
    std::vector<int> guarded_ranks, plain_ranks;
    for (int rank = 0; rank < world.size(); ++rank)
      (guarded[static_cast<std::size_t>(rank)] != 0 ? guarded_ranks : plain_ranks).push_back(rank);
    // An edge with a device at either end is staged, at both; between plain ranks bodies go from where they are.
    trained staged;
    if (is_left) {
      weft::transport::staged<1024, weft_test::guarded_copies> by_chunks(world);
      weft_test::device_like_door door(by_chunks);
      staged = train(door, {.several_builds = true});
      if (door.bodies() == 0) wrong |= 1;
    } else {
      weft::transport::device_aware between(world, memory::name(), plain_ranks);
      weft::transport::staged<1024, weft::transport::host_copies> door(between, {}, {.peers = guarded_ranks});
      staged = train(door, {.several_builds = true});
    }
    if (direct.losses.size() != 4 || !(staged == direct)) wrong |= 2;
  }
  CHECK(worst(wrong) == 0);
}

TEST_CASE("mixed: a plan that promises other vendors than came is refused at the start") {
  std::string const words = "the plan's rank_vendors say HIP for rank 1, and it is host";
  std::string told = words;
  {
    weft::transport::mpi world(MPI_COMM_WORLD);
    using plan = weft::plan<weft::schedule::one_f_one_b, weft::pipeline_ranks<2>, weft::micro_batches<3>,
                            weft::rank_vendors<weft::vendor::host, weft::vendor::hip>>;
    if (world.size() == 2) {
      try {
        weft::train::trainer_options options;
        options.extents = {3, tiny_training::length};
        options.build = {{{"build", build}}, "MPI"};  // two of them: such a plan is one of a mixed job
        weft::train::trainer<tiny_training::tiny, float, space> const trainer(plan{}, world, options);
        told = "nothing";
      } catch (weft::agreed_error const& failure) {
        told = failure.what();
      }
    }
  }
  CHECK(worst(told.find(words) == std::string::npos ? 1 : 0) == 0);
}
