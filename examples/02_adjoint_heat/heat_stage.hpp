// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/pipeline/boundary_view.hpp>
#include <weft/pipeline/stage_context.hpp>
#include <weft/schedule/program_view.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <vector>

/// A rod that is heated, conducts and radiates: u' = u + a Laplace(u) - b u^3 + q_t h, zero outside. The unknowns are
/// the heater's powers q_t; the misfit of an experiment is sum (u - 1)^2 / 2 at the end.
namespace rod {
using space = Kokkos::DefaultExecutionSpace;
using matrix = Kokkos::View<double**, Kokkos::LayoutRight, space::memory_space>;
using row = Kokkos::View<double*, Kokkos::LayoutRight, space::memory_space, Kokkos::MemoryUnmanaged>;
constexpr int cells = 200, time_steps = 48;
constexpr double a = 0.2, b = 0.05;

KOKKOS_INLINE_FUNCTION double heater(int cell) { return cell >= 80 && cell < 120 ? 1.0 : 0.0; }
template <class View>
KOKKOS_INLINE_FUNCTION double laplace(View const& u, int t, int i) {
  return (i > 0 ? u(t, i - 1) : 0.0) - 2.0 * u(t, i) + (i + 1 < cells ? u(t, i + 1) : 0.0);
}

struct step {  // u(t + 1) from u(t)
  matrix u;
  Kokkos::View<double*, space::memory_space> power;
  int first, t;
  KOKKOS_INLINE_FUNCTION void operator()(int i) const {
    u(t + 1, i) = u(t, i) + a * laplace(u, t, i) - b * u(t, i) * u(t, i) * u(t, i) + power(first + t) * heater(i);
  }
};
struct adjoint_step {  // v(t) from v(t + 1), at the temperature u(t)
  matrix u, v;
  int t;
  KOKKOS_INLINE_FUNCTION void operator()(int i) const {
    v(t, i) = v(t + 1, i) + a * laplace(v, t + 1, i) - 3.0 * b * u(t, i) * u(t, i) * v(t + 1, i);
  }
};
struct power_gradient {  // dJ/dq_t += sum over cells of h v(t + 1), in cell order
  matrix v;
  Kokkos::View<double*, space::memory_space> gradient;
  int first;
  KOKKOS_INLINE_FUNCTION void operator()(int t) const {
    for (int i = 0; i < cells; ++i) gradient(first + t) += heater(i) * v(t + 1, i);
  }
};
}  // namespace rod

/// The stage that weft plays: consecutive time intervals on consecutive ranks.
struct heat_stage {
  using context = weft::stage_context<rod::space>;
  using views = weft::boundary_views<rod::space::memory_space>;

  int stages;
  Kokkos::View<double*, rod::space::memory_space> power{"weft::rod_power", rod::time_steps};
  Kokkos::View<double*, rod::space::memory_space> gradient{"weft::rod_gradient", rod::time_steps};
  std::vector<rod::matrix> temperature, adjoint;  // by slot: all time steps of this rank's interval
  std::vector<double> misfit;                     // by micro-batch, on the last stage

  heat_stage(int stage_count, int experiments, int changed_step, double change)
      : stages(stage_count),
        misfit(static_cast<std::size_t>(experiments)) {
    Kokkos::deep_copy(power, 0.02);
    Kokkos::deep_copy(Kokkos::subview(power, changed_step), 0.02 + change);
  }
  [[nodiscard]] int first(int stage) const { return rod::time_steps * stage / stages; }

  static weft::boundary boundary(weft::topology::edge const&) {
    return weft::boundary().add(weft::scalar::f64, rod::cells);
  }

  void prepare(int stage, weft::schedule::slot_counts const& slots) {
    auto const rows = static_cast<std::size_t>(first(stage + 1) - first(stage) + 1);
    for (int slot = 0; slot < slots.activation; ++slot) temperature.emplace_back("weft::rod_u", rows, rod::cells);
    for (int slot = 0; slot < std::max(1, slots.weight_context); ++slot)
      adjoint.emplace_back("weft::rod_v", rows, rod::cells);
  }

  void forward(context& where, views const& in, views& out) {
    auto const u = temperature[static_cast<std::size_t>(where.slot())];
    int const begin = first(where.stage()), steps = first(where.stage() + 1) - begin;
    auto const start = row_of(u, 0);
    if (in.empty())
      Kokkos::deep_copy(where.space(), start, 0.1 * where.micro_batch());  // the experiments' initial states
    else
      Kokkos::deep_copy(where.space(), start, in[0].view<double>(0));
    for (int t = 0; t < steps; ++t)
      Kokkos::parallel_for("weft::rod_step", range(where, rod::cells), rod::step{u, power, begin, t});
    if (!out.empty())
      Kokkos::deep_copy(where.space(), out[0].view<double>(0), row_of(u, steps));
    else
      misfit[static_cast<std::size_t>(where.micro_batch())] = misfit_of(row_of(u, steps));
  }

  void backward_input(context& where, views const&, views const& gradient_out, views& gradient_in) {
    auto const u = temperature[static_cast<std::size_t>(where.slot())];
    auto const v = adjoint[static_cast<std::size_t>(where.weight_slot())];
    int const steps = first(where.stage() + 1) - first(where.stage());
    if (!gradient_out.empty())
      Kokkos::deep_copy(where.space(), row_of(v, steps), gradient_out[0].view<double>(0));
    else
      Kokkos::parallel_for("weft::rod_misfit", range(where, rod::cells),
                           misfit_gradient{row_of(u, steps), row_of(v, steps)});
    for (int t = steps - 1; t >= 0; --t)
      Kokkos::parallel_for("weft::rod_adjoint", range(where, rod::cells), rod::adjoint_step{u, v, t});
    if (!gradient_in.empty()) Kokkos::deep_copy(where.space(), gradient_in[0].view<double>(0), row_of(v, 0));
  }

  void backward_weight(context& where, views const&, views const&) {
    int const begin = first(where.stage());
    Kokkos::parallel_for("weft::rod_gradient", range(where, first(where.stage() + 1) - begin),
                         rod::power_gradient{adjoint[static_cast<std::size_t>(where.weight_slot())], gradient, begin});
  }

 private:
  struct misfit_gradient {
    rod::row u, v;
    KOKKOS_INLINE_FUNCTION void operator()(int i) const { v(i) = u(i) - 1.0; }
  };
  static rod::row row_of(rod::matrix const& of, int t) { return rod::row(&of(t, 0), rod::cells); }
  using policy = Kokkos::RangePolicy<rod::space, Kokkos::IndexType<int>>;
  static policy range(context const& where, int count) { return policy(where.space(), 0, count); }
  static double misfit_of(rod::row const& u) {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), u);
    double sum = 0.0;
    for (int i = 0; i < rod::cells; ++i) sum += 0.5 * (host(i) - 1.0) * (host(i) - 1.0);
    return sum;
  }
};
