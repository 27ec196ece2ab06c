// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/model_stage.hpp>
#include <weft/model/token_batch.hpp>
#include <weft/pipeline/boundary.hpp>
#include <weft/pipeline/boundary_view.hpp>
#include <weft/pipeline/stage_context.hpp>
#include <weft/topology/axis.hpp>
#include <weft/topology/mesh.hpp>
#include <weft/topology/partition.hpp>
#include <weft/topology/ranks_along.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/guarded.hpp>
#include <weft/transport/run_collective.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace weft::inline v1::train {

/// Speeds of pipeline ranks, 1 for the fastest, from the seconds that every rank of the mesh takes for the same work.
/// In steps of a twentieth and at least that, so that the noise of a measurement moves no layer; a pipeline rank is as
/// fast as the slowest of its data ranks. Does not communicate. Throws where a time is not above 0.
inline std::vector<double> speeds_of(std::vector<double> const& seconds, topology::mesh_shape const& mesh) {
  constexpr double steps = 20.0;
  std::vector<double> slowest(static_cast<std::size_t>(topology::extent_of<topology::pipeline>(mesh)), 0.0);
  for (std::size_t rank = 0; rank < seconds.size(); ++rank) {
    if (!(seconds[rank] > 0.0) || !std::isfinite(seconds[rank]))
      throw error("weft::measured_speeds: rank " + std::to_string(rank) + " took " + std::to_string(seconds[rank]) +
                      " seconds for a block; name speeds, since its clock cannot be used",
                  {.rank = static_cast<int>(rank)});
    double& own =
        slowest[static_cast<std::size_t>(topology::coordinate_of<topology::pipeline>(mesh, static_cast<int>(rank)))];
    own = (std::max)(own, seconds[rank]);
  }
  double const fastest = *std::min_element(slowest.begin(), slowest.end());
  for (double& each : slowest) each = (std::max)(1.0, std::round(steps * fastest / each)) / steps;
  return slowest;
}

/// Seconds for forward and backward of the model's first block on this rank: the least of several runs, in about
/// `budget` seconds and at least three. Makes and gives back one block's buffers. Does not communicate.
template <class Model, class Real = float, class Space = Kokkos::DefaultExecutionSpace>
double seconds_per_block(model::extents largest, double budget = 0.2) {
  using stage_type = model::model_stage<Model, Real, Space>;
  using memory_space = typename Space::memory_space;
  using clock = std::chrono::steady_clock;
  constexpr int layers = Model::layer_count;
  if constexpr (layers < 3)
    throw error("weft::measured_speeds: a model of " + std::to_string(layers) +
                " layers has no block between its ends; name speeds");
  constexpr int middle = 1;
  Space const space{};
  stage_type stage({{0, 1}, {1, 2}, {2, layers}}, {middle}, largest, 1, space);
  stage.prepare(middle, {.activation = 1, .weight_context = 1});

  model::token_batch batch;
  batch.sequences = largest.sequences_per_micro_batch;
  batch.sequence_length = largest.sequence_length;
  batch.micro_batches = 1;
  batch.counted_tokens = largest.tokens();
  batch.training = true;
  stage.begin(batch);
  stage.parameters().zero_gradients(space);

  weft::boundary const layout = stage.boundary({0, middle});
  constexpr std::size_t line = boundary_view<memory_space>::alignment;
  std::size_t const bytes = (boundary_view<memory_space>(nullptr, &layout).bytes() + line - 1) / line * line;
  Kokkos::View<std::byte*, memory_space> const wires("weft::measured_speeds", 4 * bytes);
  auto const side = [&](std::size_t which) {
    boundary_views<memory_space> all;
    all.push_back(boundary_view<memory_space>(wires.data() + which * bytes, &layout));
    return all;
  };
  auto const in = side(0);
  auto const grad_out = side(2);
  using wire = typename stage_type::wire;
  for (auto const* each : {&in, &grad_out})
    Kokkos::deep_copy(space, (*each)[0].template view<wire>(0), wire(execution::wide<wire>(0.5)));

  stage_context<Space> where(space, nullptr);
  where.set(middle, 0, 0, 0);
  auto out = side(1);
  auto grad_in = side(3);
  double least = 0.0;
  auto const begin = clock::now();
  auto const since = [](clock::time_point from) { return std::chrono::duration<double>(clock::now() - from).count(); };
  for (int run = 0; run < 4 || (since(begin) < budget && run < 1000); ++run) {
    execution::fence(space, "weft::speed");
    auto const at = clock::now();
    stage.forward(where, in, out);
    stage.backward(where, in, grad_out, grad_in);
    execution::fence(space, "weft::speed");
    double const seconds = since(at);
    if (run == 1 || (run > 1 && seconds < least)) least = seconds;  // the first one warms up
  }
  return least;
}

/// A short timing of all ranks at the same moment: what `rank_capacities::speeds` may say of a pipeline of this mesh.
/// The same numbers on every rank. Collective over `door`, whose ranks are the mesh's.
template <class Model, class Real = float, class Space = Kokkos::DefaultExecutionSpace>
std::vector<double> measured_speeds(transport::endpoint& door, topology::mesh_shape const& mesh, model::extents largest,
                                    double deadline = transport::default_deadline) {
  return transport::guarded(door, [&] {
    if (mesh.ranks() != door.size())
      throw error("weft::measured_speeds: a mesh of " + std::to_string(mesh.ranks()) + " ranks for " +
                      std::to_string(door.size()) + "; give the mesh of the job",
                  {.rank = door.rank()});
    std::vector<double> seconds(static_cast<std::size_t>(door.size()));
    double own = 0.0;
    transport::all_gather(door, &own, sizeof own, seconds.data(), deadline);  // a common begin
    {
      auto const turn = door.launch_lock();  // ranks that are threads measure one after the other
      own = seconds_per_block<Model, Real, Space>(largest);
    }
    transport::all_gather(door, &own, sizeof own, seconds.data(), deadline);
    return speeds_of(seconds, mesh);
  });
}

}  // namespace weft::inline v1::train
