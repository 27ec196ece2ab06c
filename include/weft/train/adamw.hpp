// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace weft::inline v1::train {

/// AdamW with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101, algorithm 2).
struct adamw {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  ///< on parameters whose descriptor says `decay`
};

/// One parameter tensor: reads state (w, m, v) and gradient, writes the next state into its other slot, so that a step
/// can be taken back exactly. `scale` multiplies the gradient (clipping).
template <class Real, class View, class Copy>
struct adamw_kernel {
  View value, first, second, gradient;
  View next_value, next_first, next_second;
  Copy next_copy;  ///< of next_value in the type that layers compute in; next_value itself where that is its own
  Real learning_rate, beta1, beta2, epsilon, decay, scale;
  Real correction1, correction2;  ///< 1 / (1 - beta^t)

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const {
    Real const grad = gradient(index) * scale;
    Real const mean = beta1 * first(index) + (Real(1) - beta1) * grad;
    Real const square = beta2 * second(index) + (Real(1) - beta2) * grad * grad;
    Real const update = (mean * correction1) / (root(square * correction2) + epsilon);
    next_first(index) = mean;
    next_second(index) = square;
    Real const next = value(index) - learning_rate * (update + decay * value(index));
    next_value(index) = next;
    if constexpr (!std::is_same_v<Copy, View>)
      next_copy(index) = static_cast<typename Copy::non_const_value_type>(next);
  }

 private:
  KOKKOS_INLINE_FUNCTION static float root(float x) { return sqrtf(x); }
  KOKKOS_INLINE_FUNCTION static double root(double x) { return ::sqrt(x); }
};

/// Launches one AdamW step on one tensor. `step` counts from 1. Does not communicate, does not fence.
template <class Space, class View, class Copy>
void adamw_step(Space const& space, adamw const& options, double learning_rate, std::int64_t step, double scale,
                bool decays, View const& value, View const& first, View const& second, View const& gradient,
                View const& next_value, View const& next_first, View const& next_second, Copy const& next_copy) {
  using real = typename View::non_const_value_type;
  adamw_kernel<real, View, Copy> const kernel{
      value,
      first,
      second,
      gradient,
      next_value,
      next_first,
      next_second,
      next_copy,
      static_cast<real>(learning_rate),
      static_cast<real>(options.beta1),
      static_cast<real>(options.beta2),
      static_cast<real>(options.epsilon),
      static_cast<real>(decays ? options.weight_decay : 0.0),
      static_cast<real>(scale),
      static_cast<real>(1.0 / (1.0 - std::pow(options.beta1, static_cast<double>(step)))),
      static_cast<real>(1.0 / (1.0 - std::pow(options.beta2, static_cast<double>(step))))};
  Kokkos::parallel_for(
      "weft::adamw",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, static_cast<std::int64_t>(value.extent(0))),
      kernel);
}

}  // namespace weft::inline v1::train
