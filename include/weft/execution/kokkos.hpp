// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// The only header that knows that Kokkos comes in several versions (3.4 to 5.x) and that its spaces differ. Everything
/// else launches through `execution::for_each` and asks the traits below.

#include <weft/config.hpp>
#include <weft/execution/recording.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#if KOKKOS_VERSION < 30400
#error "weft: Kokkos 3.4 or later is needed; install libtrilinos-kokkos-dev or libkokkos-dev"
#endif

#if !defined(__CUDACC__) && !defined(__HIPCC__) && !defined(SYCL_LANGUAGE_VERSION)
#define WEFT_RESTRICT __restrict__
#else
#define WEFT_RESTRICT KOKKOS_RESTRICT
#endif

// WEFT_INDEPENDENT before a loop: its iterations share no memory, whatever pointers may point to (what `restrict` says
// of a functor's members is lost when it is inlined). WEFT_KEEP_LOOP: do not unroll before vectorising; g++ would
// otherwise unroll a loop over sixteen lanes and vectorise the loop around it, by shuffling registers. Each is worth a
// factor of two to three in row kernels. Devices need neither. WEFT_UNROLL: a loop over arrays that a device is to keep
// in registers, which it cannot index; hosts are left to choose. WEFT_LOOPS_BEGIN and _END, around the namespace of a
// header with such loops: clang warns of each that it does not vectorise, and at -O1 it vectorises few.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define WEFT_INDEPENDENT
#define WEFT_KEEP_LOOP
#define WEFT_UNROLL _Pragma("unroll")
#elif defined(__clang__)
#define WEFT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define WEFT_LOOPS_BEGIN _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpass-failed\"")
#define WEFT_LOOPS_END _Pragma("clang diagnostic pop")
#define WEFT_KEEP_LOOP
#elif defined(__GNUC__)
#define WEFT_INDEPENDENT _Pragma("GCC ivdep")
#define WEFT_KEEP_LOOP _Pragma("GCC unroll 1")
#else
#define WEFT_INDEPENDENT
#define WEFT_KEEP_LOOP
#endif
#ifndef WEFT_UNROLL
#define WEFT_UNROLL
#endif
#ifndef WEFT_LOOPS_BEGIN
#define WEFT_LOOPS_BEGIN
#define WEFT_LOOPS_END
#endif

// A test may see every launch with its arguments: a program of its own, that defines this before it includes weft.
#ifndef WEFT_OBSERVE_LAUNCH
#define WEFT_OBSERVE_LAUNCH(label, count, arguments) static_cast<void>(0)
#endif

namespace weft::inline v1::execution {

/// Kokkos's version as it writes it itself: 30401, 50200.
inline constexpr int kokkos_version = KOKKOS_VERSION;

#if defined(KOKKOS_ENABLE_HIP)
// The backend left Kokkos::Experimental with Kokkos 4.
#if KOKKOS_VERSION >= 40000
using hip_space = Kokkos::HIP;
using hip_pinned_space = Kokkos::HIPHostPinnedSpace;
#else
using hip_space = Kokkos::Experimental::HIP;
using hip_pinned_space = Kokkos::Experimental::HIPHostPinnedSpace;
#endif
#endif

/// True if Space runs on the host's cores and may be handed host pointers.
template <class Space>
inline constexpr bool is_host_space = std::is_same_v<typename Space::memory_space, Kokkos::HostSpace>;

/// An unmanaged flat view on memory of Space; how weft hands out parts of the buffers it owns.
template <class Real, class Space>
using flat_view = Kokkos::View<Real*, Kokkos::LayoutRight, typename Space::memory_space, Kokkos::MemoryUnmanaged>;

/// Waits for one instance alone, never for the whole device. `why` is what Kokkos Tools show where it can be named: at
/// most 15 characters from "weft::" on, so that its string does not allocate.
template <class Space>
void fence(Space const& space, char const* why) {
  recording::refuse("waits", why);
#if KOKKOS_VERSION >= 30500
  space.fence(why);
#else
  space.fence();
#endif
}

/// An instance on the same device whose kernels and copies wait for none of `beside`: a stream of its own. Hosts have
/// no queues; there it is `beside` itself.
template <class Space>
Space new_instance(Space const& beside = Space{}) {
  if constexpr (is_host_space<Space>) {
    return beside;
  } else {
#if KOKKOS_VERSION >= 30500
    return Kokkos::Experimental::partition_space(beside, 1)[0];
#else
    static_assert(sizeof(Space) == 0, "weft: on a device, Kokkos 3.5 or later is needed; 3.4 has no second instance");
    return beside;
#endif
  }
}

/// How many threads one kernel of this instance uses on the host.
template <class Space>
int host_concurrency([[maybe_unused]] Space const& space) {
  if constexpr (is_host_space<Space>) {
    return static_cast<int>(space.concurrency());
  } else {
    return 1;
  }
}

/// Launches a functor under its label, by any policy; layers and optimizer start no kernel otherwise. `count`: of
/// items. The label's string is made once per functor type, so a launch does not allocate. Does not wait; does not
/// communicate. Throws weft::error where the call is recorded and the functor is too large for that.
template <class Policy, class Functor>
void launch(Policy const& policy, [[maybe_unused]] std::int64_t count, Functor const& functor) {
  static std::string const label(Functor::label);
  WEFT_OBSERVE_LAUNCH(Functor::label, count, functor);
  constexpr std::size_t bytes = sizeof(Kokkos::Impl::ParallelFor<Functor, Policy>);
  if constexpr (bytes >= recording::too_large) recording::refuse_launch(Functor::label, bytes);
  Kokkos::parallel_for(label, policy, functor);
}

/// Launches `functor(i)` for 0 <= i < count on the instance. The functor is a named type with a
/// `static constexpr char const* label` that starts with "weft::"; nothing is launched for count 0.
/// Does not wait; does not communicate.
template <class Space, class Functor>
void for_each(Space const& space, std::int64_t count, Functor const& functor) {
  if (count <= 0) return;
  launch(Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, count), count, functor);
}

/// number / by, neither negative. A device divides 64 bits in some seventy instructions, more than an element-wise
/// kernel has otherwise, and 32 bits in twenty.
KOKKOS_FORCEINLINE_FUNCTION constexpr std::int64_t divide(std::int64_t number, std::int64_t by) {
  if (((number | by) >> 32) == 0) return static_cast<std::uint32_t>(number) / static_cast<std::uint32_t>(by);
  return number / by;
}

/// How the columns of an element-wise kernel are cut into pieces, one functor call each: whole rows on the host, so
/// that the compiler vectorises the inner loop, and single columns on a device, so that neighbouring threads read
/// neighbouring addresses. The bits of a result never depend on the cut.
struct column_cut {
  std::int64_t columns = 0;
  std::int64_t width = 1;

  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t pieces() const {
    return width == 1 ? columns : divide(columns + width - 1, width);
  }
  /// The row, and the piece of it, that one of rows x pieces is.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t row_of(std::int64_t item) const { return divide(item, pieces()); }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t piece_of(std::int64_t item) const {
    return item - row_of(item) * pieces();
  }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t begin(std::int64_t piece) const { return piece * width; }
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t end(std::int64_t piece) const {
    std::int64_t const stop = (piece + 1) * width;
    return stop < columns ? stop : columns;
  }
};

/// The cut for kernels over rows x columns: on the host the rows are parallel enough.
template <class Space>
column_cut cut_row(std::int64_t columns) {
  return {columns, is_host_space<Space> && columns > 0 ? columns : 1};
}

/// The cut for kernels that are parallel over columns alone (they walk down all rows in order).
template <class Space>
column_cut cut_columns(Space const& space, std::int64_t columns) {
  if constexpr (!is_host_space<Space>) return {columns, 1};
  return {columns, host_concurrency(space) > 1 || columns < 1 ? 64 : columns};
}

}  // namespace weft::inline v1::execution
