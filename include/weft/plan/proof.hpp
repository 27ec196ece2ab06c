// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/concepts/plannable_model.hpp>
#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/plan/errors.hpp>
#include <weft/plan/memory.hpp>
#include <weft/plan/plan.hpp>
#include <weft/plan/rank_capacities.hpp>
#include <weft/schedule/words.hpp>
#include <weft/topology/partition.hpp>

#include <cstdint>
#include <string>

namespace weft::inline v1 {

/// What a plan needs when it runs a given model: bytes per rank, known before the job is queued. `Extents`: the largest
/// micro-batch, a flat value of the model's own type.
///
///     static_assert(weft::proof<plan, model, extents>::bytes_per_rank <= weft::gib(16));
///
/// A plan with `memory_limit<...>` that needs more does not compile, nor does a `stage_layers` that does not add up to
/// the model; the figures are in the error. For plans with dynamic ranks or counts see `check_memory`.
template <class Plan, class Model, auto Extents, class Real = float>
struct proof {
  static_assert(
      plannable_model<Model, decltype(Extents)>,
      "weft::proof: the model lacks layer_count, parameter_count, flops, activation_bytes, workspace_bytes or "
      "boundary_elements; see concepts/plannable_model.hpp");
  static_assert(Plan::known_while_compiling || Plan::is_refused,
                "weft::proof: ranks or micro-batches are dynamic; call weft::check_memory when the program starts");

 private:
  static constexpr int stages = Plan::sample().stages();

  static constexpr topology::partition_check layer_check() {
    if constexpr (Plan::layers::stages > 0)
      return topology::check_sizes(Plan::layers::sizes, stages, Model::layer_count);
    else if constexpr (stages > 1 && Model::layer_count < 2)
      return {topology::partition_fault::ends_need_layers, stages - 1, Model::layer_count, 2};
    else
      return {};
  }
  static constexpr topology::partition_check layers_found = layer_check();
  static_assert(layers_must_add_up<layers_found.what, layers_found.found, layers_found.wanted>::value);

 public:
  [[nodiscard]] static constexpr topology::partition layers() {
    if constexpr (Plan::layers::stages > 0)
      return topology::partition::of(Plan::layers::sizes, stages, Model::layer_count);
    else if constexpr (Plan::speeds::ranks > 0)
      return partition_of<Model>(Plan::sample(), Extents, Plan::speeds::values);
    else
      return partition_of<Model>(stages, Extents);
  }

  [[nodiscard]] static constexpr memory_needs of_rank(int rank) {
    return memory_of_rank<Model, Real>(Plan::sample(), layers(), Extents, rank);
  }

 private:
  static constexpr heaviest_rank find_heaviest() {
    if constexpr (layers_found.legal())
      return memory_of_heaviest<Model, Real>(Plan::sample(), layers(), Extents);
    else
      return {};
  }

 public:
  static constexpr heaviest_rank heaviest = find_heaviest();
  static constexpr std::int64_t bytes_per_rank = heaviest.needs.total();  ///< of the heaviest rank; see memory_needs

  static constexpr bool fits = Plan::memory_limit == 0 || bytes_per_rank <= Plan::memory_limit;
  static_assert(memory_limit_must_hold<fits, bytes_per_rank, heaviest.rank, Plan::memory_limit>::value);
};

/// The same for a program that was made at start-up: throws `weft::error` where the heaviest rank needs more than
/// `limit` bytes. Returns that rank and its needs. Does not communicate.
template <class Model, class Real = float, class Extents>
heaviest_rank check_memory(schedule::program_view const& program, topology::partition const& layers,
                           Extents const& largest, std::int64_t limit, int gradient_groups = 1) {
  heaviest_rank const found = memory_of_heaviest<Model, Real>(program, layers, largest, gradient_groups);
  if (found.needs.total() > limit)
    throw error("weft::plan: " WEFT_WORDS_MEMORY_LIMIT " (rank " + std::to_string(found.rank) + " needs " +
                    std::to_string(found.needs.total()) + " bytes of " + std::to_string(limit) + ")",
                {found.rank, -1, -1, -1, -1});
  return found;
}

}  // namespace weft::inline v1
