// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/allocate.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/mirror.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace weft::inline v1::train {

/// AdamW with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101, algorithm 2).
struct adamw {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  ///< on parameters whose descriptor says `decay`
};

/// What changes from step to step. The kernel reads it from the execution space's memory, so that its arguments stay.
template <class Real>
struct adamw_values {
  Real learning_rate;
  Real scale;        ///< of the gradient: clipping, and the loss scale taken off
  Real correction1;  ///< 1 / (1 - beta^t)
  Real correction2;

  /// `step` counts from 1.
  static adamw_values make(adamw const& options, double learning_rate, std::int64_t step, double scale) {
    return {static_cast<Real>(learning_rate), static_cast<Real>(scale),
            static_cast<Real>(1.0 / (1.0 - std::pow(options.beta1, static_cast<double>(step)))),
            static_cast<Real>(1.0 / (1.0 - std::pow(options.beta2, static_cast<double>(step))))};
  }
};

/// Where they lie, at addresses that never change: as bytes, since Kokkos would launch kernels of its own to make and
/// to destroy what is no number.
template <class Real, class Space>
class adamw_value_slots {
 public:
  explicit adamw_value_slots(std::size_t count = 1)
      : there_(execution::allocate<view>("weft::step_values", count * size)),
        here_(execution::make_mirror("weft::step_values", there_)) {}

  /// Queues on `space`, and reads host memory later: fence `space` before the same slot is set again.
  void set(Space const& space, std::size_t slot, adamw_values<Real> const& values) {
    std::memcpy(here_.data() + slot * size, &values, size);
    if constexpr (!execution::is_host_space<Space>) {
      auto const one = std::make_pair(slot * size, (slot + 1) * size);
      Kokkos::deep_copy(space, Kokkos::subview(there_, one), Kokkos::subview(here_, one));
    }
  }
  [[nodiscard]] adamw_values<Real> const* at(std::size_t slot) const {
    return reinterpret_cast<adamw_values<Real> const*>(there_.data() + slot * size);
  }

 private:
  using view = Kokkos::View<std::byte*, typename Space::memory_space>;
  static constexpr std::size_t size = sizeof(adamw_values<Real>);
  view there_;
  execution::mirror_of<view> here_;
};

/// One parameter tensor: reads state (w, m, v) and gradient, writes the next state into its other slot, so that a step
/// can be taken back exactly.
template <class Real, class Copy>
struct adamw_kernel {
  static constexpr char const* label = "weft::adamw";
  Real const* value;
  Real const* first;
  Real const* second;
  Real const* gradient;
  Real* next_value;
  Real* next_first;
  Real* next_second;
  Copy* next_copy;  ///< of next_value in the type that layers compute in; next_value itself where that is its own
  Real beta1, beta2, epsilon, decay;
  adamw_values<Real> const* now;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const {
    Real const grad = gradient[index] * now->scale;
    Real const mean = beta1 * first[index] + (Real(1) - beta1) * grad;
    Real const square = beta2 * second[index] + (Real(1) - beta2) * grad * grad;
    Real const update = (mean * now->correction1) / (root(square * now->correction2) + epsilon);
    next_first[index] = mean;
    next_second[index] = square;
    Real const next = value[index] - now->learning_rate * (update + decay * value[index]);
    next_value[index] = next;
    if constexpr (!std::is_same_v<Copy, Real>) next_copy[index] = static_cast<Copy>(next);
  }

 private:
  KOKKOS_INLINE_FUNCTION static float root(float x) { return sqrtf(x); }
  KOKKOS_INLINE_FUNCTION static double root(double x) { return ::sqrt(x); }
};

/// Launches one AdamW step on one tensor, with what lies at `now` in Space's memory. Does not communicate, does not
/// fence.
template <class Space, class Real, class View, class Copy>
void adamw_step(Space const& space, adamw const& options, adamw_values<Real> const* now, bool decays, View const& value,
                View const& first, View const& second, View const& gradient, View const& next_value,
                View const& next_first, View const& next_second, Copy const& next_copy) {
  static_assert(std::is_same_v<Real, typename View::non_const_value_type>);
  adamw_kernel<Real, typename Copy::non_const_value_type> const kernel{
      value.data(),
      first.data(),
      second.data(),
      gradient.data(),
      next_value.data(),
      next_first.data(),
      next_second.data(),
      next_copy.data(),
      static_cast<Real>(options.beta1),
      static_cast<Real>(options.beta2),
      static_cast<Real>(options.epsilon),
      static_cast<Real>(decays ? options.weight_decay : 0.0),
      now};
  execution::for_each(space, static_cast<std::int64_t>(value.extent(0)), kernel);
}

}  // namespace weft::inline v1::train
