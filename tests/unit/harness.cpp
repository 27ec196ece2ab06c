// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>

namespace {

struct fill {
  Kokkos::View<int*> values;
  KOKKOS_INLINE_FUNCTION void operator()(int index) const { values(index) = index; }
};

}  // namespace

TEST_CASE("the harness has Kokkos up for every case") {
  REQUIRE(Kokkos::is_initialized());
  Kokkos::View<int*> values("weft_test::values", 5);
  Kokkos::parallel_for("weft_test::fill", Kokkos::RangePolicy<Kokkos::DefaultExecutionSpace>(0, 5), fill{values});
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, values);
  for (int index = 0; index < 5; ++index) CHECK(host(index) == index);
}
