// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <concepts>

namespace weft::inline v1 {

/// In place of a number: it comes when the program starts, as `std::dynamic_extent` does for spans.
inline constexpr int dynamic = -1;

}  // namespace weft::inline v1

namespace weft::inline v1::topology {

/// What ranks along an axis share and what they split. `context` and `expert` are reserved: no policy uses them yet.
// clang-format off
struct pipeline { static constexpr char const* name = "pipeline"; };  ///< layers
struct data     { static constexpr char const* name = "data"; };      ///< samples
struct tensor   { static constexpr char const* name = "tensor"; };    ///< the rows and columns of one layer
struct context  { static constexpr char const* name = "context"; };   ///< positions of one sequence
struct expert   { static constexpr char const* name = "expert"; };    ///< experts of one layer
// clang-format on

template <class Tag>
concept axis_tag = requires {
  { Tag::name } -> std::convertible_to<char const*>;
};

/// One dimension of a mesh. `Extent`: its ranks, 1 or more, or `dynamic`.
template <axis_tag Tag, int Extent>
struct axis {
  static_assert(Extent == dynamic || Extent >= 1,
                "weft::axis: the number of ranks along an axis is zero or negative; use 1 or more, or weft::dynamic");
  using tag = Tag;
  static constexpr int extent = Extent;
};

/// Which axis neighbouring ranks differ in, fastest first. Put the axis that talks most there (tensor, then data).
template <axis_tag... Tags>
struct rank_order {};

}  // namespace weft::inline v1::topology

namespace weft::inline v1 {
using topology::axis;
using topology::rank_order;

// By other names here, since `weft::pipeline` is the engine.
using pipeline_axis = topology::pipeline;
using data_axis = topology::data;
using tensor_axis = topology::tensor;
using context_axis = topology::context;
using expert_axis = topology::expert;
}  // namespace weft::inline v1
