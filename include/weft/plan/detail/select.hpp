// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/concepts/schedule_policy.hpp>
#include <weft/config.hpp>
#include <weft/plan/policies.hpp>

#include <type_traits>

/// @file
/// Sorts the parameters of `plan<...>` by kind, in whatever order they were written.

namespace weft::inline v1::plan_detail {

template <class Type>
struct is_mesh : std::false_type {};
template <class... Parts>
struct is_mesh<topology::mesh<Parts...>> : std::true_type {};
template <class Type>
struct is_micro_batches : std::false_type {};
template <int Count>
struct is_micro_batches<micro_batches<Count>> : std::true_type {};
template <class Type>
struct is_memory_limit : std::false_type {};
template <std::int64_t Bytes>
struct is_memory_limit<memory_limit<Bytes>> : std::true_type {};
template <class Type>
struct is_held_to : std::false_type {};
template <schedule::send_model Model>
struct is_held_to<held_to<Model>> : std::true_type {};
template <class Type>
struct is_stage_layers : std::false_type {};
template <int... Sizes>
struct is_stage_layers<stage_layers<Sizes...>> : std::true_type {};
template <class Type>
struct is_rank_speeds : std::false_type {};
template <int... Speeds>
struct is_rank_speeds<rank_speeds<Speeds...>> : std::true_type {};
template <class Type>
struct is_rank_vendors : std::false_type {};
template <vendor... Vendors>
struct is_rank_vendors<rank_vendors<Vendors...>> : std::true_type {};
template <class Type>
struct is_allow_mixed : std::false_type {};
template <class... Tags>
struct is_allow_mixed<allow_mixed<Tags...>> : std::true_type {};
template <class Type>
struct is_recompute : std::bool_constant<std::is_same_v<Type, schedule::recompute::none> ||
                                         std::is_same_v<Type, schedule::recompute::full>> {};
/// `schedule::automatic`: names a schedule once ranks and micro-batches are known.
template <class Type>
concept schedule_chooser = requires {
  requires Type::chooses_while_compiling;
};
template <class Type>
struct is_schedule : std::bool_constant<schedule_policy<Type> || schedule_chooser<Type>> {};
template <class Type>
struct is_reduction : std::false_type {};
template <class Policy>
struct is_reduction<reduce_gradients<Policy>> : std::true_type {};
template <class Type>
struct is_no_optimizer : std::is_same<Type, no_optimizer> {};
template <class Type>
struct is_post_validated : std::is_same<Type, post_validated> {};
template <class Type>
struct is_no_ties : std::is_same<Type, no_tied_parameters> {};

template <class Type>
inline constexpr bool is_known =
    is_mesh<Type>::value || is_micro_batches<Type>::value || is_memory_limit<Type>::value || is_held_to<Type>::value ||
    is_recompute<Type>::value || is_schedule<Type>::value || is_no_optimizer<Type>::value || is_no_ties<Type>::value ||
    is_stage_layers<Type>::value || is_rank_speeds<Type>::value || is_reduction<Type>::value ||
    is_post_validated<Type>::value || is_rank_vendors<Type>::value || is_allow_mixed<Type>::value;

template <template <class> class Kind, class... Policies>
inline constexpr int count = (0 + ... + static_cast<int>(Kind<Policies>::value));

/// The first policy of a kind, or `Otherwise`.
template <template <class> class Kind, class Otherwise, class... Policies>
struct first {
  using type = Otherwise;
};
template <template <class> class Kind, class Otherwise, class Policy, class... Rest>
struct first<Kind, Otherwise, Policy, Rest...> {
  using type = typename std::conditional_t<Kind<Policy>::value, std::type_identity<Policy>,
                                           first<Kind, Otherwise, Rest...>>::type;
};

/// Whether every axis that an `allow_mixed` names is one of the mesh.
template <class Mesh, class Allowed>
inline constexpr bool has_axes_of = true;
template <class Mesh, class... Tags>
inline constexpr bool has_axes_of<Mesh, allow_mixed<Tags...>> = (Mesh::template has_axis<Tags>() && ...);

/// Two ranks that differ along one axis alone.
struct vendor_boundary {
  int one = -1;
  int other = -1;
};

/// The first pair of ranks of different vendors that no policy allows; -1 where there is none.
template <class Mesh, class Vendors, class Allowed>
constexpr vendor_boundary forbidden_boundary() {
  if constexpr (Vendors::ranks == 0 || !Mesh::is_static) {
    return {};
  } else if constexpr (Vendors::ranks != Mesh::ranks()) {
    return {};  // another sentence says so
  } else {
    constexpr bool allows_data = Allowed::template holds<data_axis>;
    constexpr topology::mesh_shape shape = Mesh::shape(Mesh::ranks());
    for (int axis = 0; axis < shape.axes; ++axis) {
      if (topology::detail::same_name(shape.name[axis], pipeline_axis::name)) continue;
      if (allows_data && topology::detail::same_name(shape.name[axis], data_axis::name)) continue;
      for (int rank = 0; rank < Vendors::ranks; ++rank) {
        int const first = rank - shape.coordinate(rank, axis) * shape.stride[axis];
        if (Vendors::values[rank] != Vendors::values[first]) return {first, rank};
      }
    }
    return {};
  }
}

/// Copies of the model that a schedule keeps.
template <class Schedule>
inline constexpr int placement_copies = 1;
template <schedule_policy Schedule>
inline constexpr int placement_copies<Schedule> = Schedule::placement::copies;

/// The first pair of ranks of one pipeline that hold a stage in different copies of the model, on devices of different
/// vendors that no policy allows; -1 where there is none.
template <class Mesh, class Vendors, class Allowed, class Schedule>
constexpr vendor_boundary forbidden_boundary_of_copies() {
  if constexpr (placement_copies < Schedule >> 1 && Mesh::is_static && Vendors::ranks > 0) {
    if (Vendors::ranks != Mesh::ranks() || Allowed::template holds<data_axis>) return {};
    constexpr int pipeline_ranks = Mesh::template extent<pipeline_axis>();
    constexpr topology::mesh_shape shape = Mesh::shape(Mesh::ranks());
    typename Schedule::placement const placement{};
    for (int axis = 0; axis < shape.axes; ++axis) {
      if (!topology::detail::same_name(shape.name[axis], pipeline_axis::name)) continue;
      for (int rank = 0; rank < Vendors::ranks; ++rank) {
        if (shape.coordinate(rank, axis) != 0) continue;
        for (int stage = 0; stage < pipeline_ranks * Schedule::chunks; ++stage) {
          int const first = rank + placement.rank_of(stage, 0, pipeline_ranks) * shape.stride[axis];
          for (int copy = 1; copy < placement_copies<Schedule>; ++copy) {
            int const other = rank + placement.rank_of(stage, copy, pipeline_ranks) * shape.stride[axis];
            if (Vendors::values[first] != Vendors::values[other]) return {first, other};
          }
        }
      }
    }
  }
  return {};
}

/// What a chooser chose; any other schedule is itself.
template <class Schedule, int Ranks, int MicroBatches>
struct chosen_schedule {
  using type = Schedule;
};
template <schedule_chooser Chooser, int Ranks, int MicroBatches>
struct chosen_schedule<Chooser, Ranks, MicroBatches> {
  static_assert(
      Ranks != dynamic && MicroBatches != dynamic,
      "weft::plan: schedule::automatic chooses while compiling, and ranks or micro-batches are dynamic; state "
      "both, or call schedule::make_program(\"auto\", ...) when the program starts");
  using type =
      typename Chooser::template chosen<Ranks == dynamic ? 1 : Ranks, MicroBatches == dynamic ? 1 : MicroBatches>;
};

}  // namespace weft::inline v1::plan_detail
