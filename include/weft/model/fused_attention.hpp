// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Causal attention in one kernel forward and two backward, whose scores never leave a team's scratch (FlashAttention:
/// Dao et al. 2022, Dao 2023). Forward: a team has a tile of queries and walks over tiles of keys; the softmax is kept
/// as a running largest score and sum, and what was summed so far shrinks when a larger score comes. Backward makes the
/// probabilities again from the kept log of the sums: once with a team for a tile of queries, whose gradients it sums,
/// once with a team for a tile of keys, which sums those of keys and values over the queries of all heads that share
/// them. Every sum has one team and one order; there are no atomics, and memory beside inputs and outputs is one number
/// a query.
///
/// Two products more than need be are paid for that: the scores and the gradients of probabilities are made in both
/// kernels of backward. Products run on a device's plain units, not on its tensor cores; see docs/decisions.

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/attention_shape.hpp>
#include <weft/model/attention_team.hpp>
#include <weft/model/detail/fused_attention_backward.hpp>
#include <weft/model/detail/fused_attention_forward.hpp>
#include <weft/model/dropout.hpp>
#include <weft/model/layer_context.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::inline v1::model {

/// qkv [tokens][shape.row()] -> mixed [tokens][width], as `attention` does it, for heads of `HeadWidth`. No parameters.
template <std::int64_t HeadWidth>
struct fused_attention {
  static constexpr int width = attention_detail::pad(HeadWidth);

  /// Whether tiles of such heads fit into a team's scratch: up to 256 columns of float, 128 of double.
  template <class Real>
  static constexpr bool fits = attention_detail::choose_tiles(sizeof(execution::wide<Real>), width, 2, 32).rows > 0;

  /// Numbers of wide<Real> that backward needs: one a head and token, whatever lies between.
  static constexpr std::int64_t workspace_elements(extents size, std::int64_t heads) { return size.tokens() * heads; }

  /// logsum: [sequences][heads][length], kept for backward.
  template <class Real, class Space>
  static void forward(layer_context<Real, Space> const& context, attention_shape const& shape, Real const* qkv,
                      Real* mixed, execution::wide<Real>* logsum, int dropout_site) {
    auto const mask = dropout_mask<execution::wide<Real>>::make(context.dropout, dropout_site, context.now);
    std::int64_t const pairs = context.size.sequences_per_micro_batch * shape.heads;
    if (context.dropout.rate > 0.0) {
      launch(context, pairs,
             forward_kernel<Real, Space, true>{problem_of(context, shape), qkv, mixed, logsum, mask, pairs});
    } else {
      launch(context, pairs,
             forward_kernel<Real, Space, false>{problem_of(context, shape), qkv, mixed, logsum, mask, pairs});
    }
    context.stage.progress();
  }

  /// grad_qkv [tokens][shape.row()] from grad_mixed [tokens][width]; mixed and logsum are forward's.
  template <class Real, class Space>
  static void backward(layer_context<Real, Space> const& context, attention_shape const& shape, Real const* qkv,
                       Real const* mixed, execution::wide<Real> const* logsum, Real const* grad_mixed, Real* grad_qkv,
                       int dropout_site) {
    if (context.dropout.rate > 0.0) {
      backward<true>(context, shape, qkv, mixed, logsum, grad_mixed, grad_qkv, dropout_site);
    } else {
      backward<false>(context, shape, qkv, mixed, logsum, grad_mixed, grad_qkv, dropout_site);
    }
    context.stage.progress();
  }

 private:
  /// Hosts run this in tests alone, with teams of one.
  template <class Space>
  static constexpr int threads = execution::is_host_space<Space> ? 1 : attention_detail::parts;
  template <class Space>
  using member = typename Kokkos::TeamPolicy<Space>::member_type;
  template <class Real, class Space, bool HasDropout>
  using forward_kernel = kernels::fused_attention_forward<Real, width, HasDropout, threads<Space>, member<Space>>;
  template <class Real, class Space, bool HasDropout>
  using queries_kernel = kernels::fused_attention_queries<Real, width, HasDropout, threads<Space>, member<Space>>;
  template <class Real, class Space, bool HasDropout>
  using keys_kernel = kernels::fused_attention_keys<Real, width, HasDropout, threads<Space>, member<Space>>;

  template <class Context>
  static attention_detail::problem problem_of(Context const& context, attention_shape const& shape) {
    return {shape, context.size.sequence_length, 1.0 / math::sqrt(static_cast<double>(shape.head_width))};
  }

  template <bool HasDropout, class Real, class Space>
  static void backward(layer_context<Real, Space> const& context, attention_shape const& shape, Real const* qkv,
                       Real const* mixed, execution::wide<Real> const* logsum, Real const* grad_mixed, Real* grad_qkv,
                       int site) {
    using number = execution::wide<Real>;
    arena workspace = context.workspace;
    number* const along = workspace.take<number>(workspace_elements(context.size, shape.heads));
    auto const mask = dropout_mask<number>::make(context.dropout, site, context.now);
    std::int64_t const pairs = context.size.sequences_per_micro_batch * shape.heads;
    std::int64_t const kv_pairs = context.size.sequences_per_micro_batch * shape.kv_heads;
    auto const what = problem_of(context, shape);
    launch(context, pairs,
           queries_kernel<Real, Space, HasDropout>{what, qkv, mixed, logsum, grad_mixed, grad_qkv, along, mask, pairs});
    launch(context, kv_pairs,
           keys_kernel<Real, Space, HasDropout>{what, qkv, logsum, along, grad_mixed, grad_qkv, mask, kv_pairs});
  }

  /// A team for each tile of each of `pairs`.
  template <class Real, class Space, class Kernel>
  static void launch(layer_context<Real, Space> const& context, std::int64_t pairs, Kernel const& kernel) {
    using number = typename Kernel::number;
    static_assert(fits<Real>,
                  "weft::fused_attention: the heads are too wide for a team's scratch; use weft::attention");
    std::int64_t const league = pairs * kernel.what.tiles(Kernel::sizes.rows);
    if (league > 2147483647)
      throw error("weft::fused_attention: " + std::to_string(league) +
                  " tiles are more than one kernel takes; cut the micro-batch smaller");
    if (league == 0) return;
    constexpr std::size_t bytes =
        attention_detail::scratch_numbers(Kernel::sizes, width, Kernel::held) * sizeof(number) + sizeof(double);
    Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<attention_detail::parts, 3>> policy(
        context.space(), static_cast<int>(league), threads<Space>);
    policy.set_scratch_size(attention_detail::scratch_level<threads<Space>>, Kokkos::PerTeam(static_cast<int>(bytes)));
    execution::launch(policy, league, kernel);
  }
};

}  // namespace weft::inline v1::model
