// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/recompute.hpp>
#include <weft/schedule/verdict.hpp>
#include <weft/topology/axis.hpp>
#include <weft/topology/mesh.hpp>
#include <weft/topology/vendor.hpp>

#include <cstdint>
#include <type_traits>

namespace weft::inline v1 {

/// Into how many micro-batches a global batch is cut; `dynamic` where the program is told when it starts.
template <int Count>
struct micro_batches {
  static constexpr int count = Count;
};

/// Short for `mesh<axis<pipeline_axis, Count>>`.
template <int Count>
using pipeline_ranks = mesh<axis<pipeline_axis, Count>>;

/// Bytes that a rank may use; `proof` refuses a plan whose heaviest rank needs more.
template <std::int64_t Bytes>
struct memory_limit {
  static constexpr std::int64_t bytes = Bytes;
};

/// The send model that the plan is proved under; `rendezvous` where nothing is said.
template <schedule::send_model Model>
struct held_to {
  static constexpr schedule::send_model model = Model;
};

/// How many layers of the model each stage holds, embedding and head counted; by cost where nothing is said.
template <int... Sizes>
struct stage_layers {
  static constexpr int stages = sizeof...(Sizes);
  static constexpr int sizes[stages > 0 ? stages : 1] = {Sizes...};
};

/// How fast each pipeline rank is, in whole numbers of any unit, where devices are not alike: the slowest stage is then
/// as fast as it can be, embedding and head counted. Equally fast where nothing is said.
template <int... Speeds>
struct rank_speeds {
  static constexpr int ranks = sizeof...(Speeds);
  static constexpr double values[ranks > 0 ? ranks : 1] = {static_cast<double>(Speeds)...};
  static constexpr bool legal = ((Speeds > 0) && ...);
};

/// Whose device each rank of the job computes on, in the order of the ranks of the mesh (`rank_order`): programs of
/// several builds then start together. Where nothing is said, all ranks are of one build.
template <vendor... Vendors>
struct rank_vendors {
  static constexpr int ranks = sizeof...(Vendors);
  static constexpr vendor values[ranks > 0 ? ranks : 1] = {Vendors...};
  static constexpr bool is_mixed = ranks > 0 && !((Vendors == values[0]) && ...);
};

/// Ranks that differ along these axes may be of different vendors. Along the pipeline they may in any case; along the
/// data axis their replicas drift apart in the last bits, since vendors round differently, and are not compared.
template <topology::axis_tag... Tags>
struct allow_mixed {
  template <class Tag>
  static constexpr bool holds = (std::is_same_v<Tag, Tags> || ...);
};

/// How gradients are summed over the data axis: one of the policies of collective/, or `collective::library`,
/// `device_library` or `vendor_hierarchy`. The ring where nothing is said.
template <class Policy>
struct reduce_gradients {
  using policy = Policy;
};

/// For codes that do with the gradients what they like: rows end after the last backward.
struct no_optimizer {};

/// No rank waits for all others before its STEPs: they are validated in the next turn, and undone where they were wrong
/// (schedule/passes/post_validate.hpp).
struct post_validated {};

/// No two stages share a parameter: no REDUCE_GRAD.
struct no_tied_parameters {};

constexpr std::int64_t kib(std::int64_t count) { return count << 10; }
constexpr std::int64_t mib(std::int64_t count) { return count << 20; }
constexpr std::int64_t gib(std::int64_t count) { return count << 30; }

}  // namespace weft::inline v1
