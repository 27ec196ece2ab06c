// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <weft/execution/kokkos.hpp>
#include <weft/execution/mirror.hpp>

#include <Kokkos_Core.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace {

using space = Kokkos::DefaultHostExecutionSpace;

struct count_calls {
  static constexpr char const* label = "weft::test_count_calls";
  int* calls;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const { calls[index] += 1; }
};

}  // namespace

TEST_CASE("kokkos: for_each calls every index once, and nothing for none") {
  std::vector<int> calls(100, 0);
  weft::execution::for_each(space(), 60, count_calls{calls.data()});
  weft::execution::for_each(space(), 0, count_calls{nullptr});
  weft::execution::for_each(space(), -1, count_calls{nullptr});
  weft::execution::fence(space(), "weft::test");
  for (std::size_t index = 0; index < calls.size(); ++index) CHECK(calls[index] == (index < 60 ? 1 : 0));
}

TEST_CASE("kokkos: cuts cover every column once") {
  for (std::int64_t const columns : {1, 63, 64, 65, 200})
    for (std::int64_t const width : {1, 64, 200}) {
      weft::execution::column_cut const cut{columns, width};
      std::int64_t next = 0;
      for (std::int64_t piece = 0; piece < cut.pieces(); ++piece) {
        CHECK(cut.begin(piece) == next);
        CHECK(cut.end(piece) > cut.begin(piece));
        next = cut.end(piece);
      }
      CHECK(next == columns);
    }
  CHECK(weft::execution::cut_row<space>(200).pieces() == 1);
  CHECK(weft::execution::cut_row<space>(0).pieces() == 0);
}

TEST_CASE("kokkos: the host is a host") {
  static_assert(weft::execution::is_host_space<space>);
  static_assert(weft::execution::kokkos_version >= 30400);
  CHECK(weft::execution::host_concurrency(space()) >= 1);
}

TEST_CASE("kokkos: a mirror of host memory is that memory, and keeps what its view owns") {
  using owner = Kokkos::View<float*, Kokkos::LayoutRight, Kokkos::HostSpace>;
  owner made("weft::test", 5);
  weft::execution::mirror_of<owner> const mirror = weft::execution::make_mirror("weft::test_mirror", made);
  CHECK(mirror.data() == made.data());
  CHECK(mirror.extent(0) == 5);
  made = owner();
  mirror(4) = 3.0F;
  CHECK(mirror(4) == 3.0F);

  std::vector<double> numbers(7, 1.0);
  weft::execution::flat_view<double, space> const borrowed(numbers.data(), numbers.size());
  auto const beside = weft::execution::make_mirror("weft::test_mirror", borrowed);
  CHECK(beside.data() == numbers.data());
  CHECK(beside.extent(0) == 7);
}

TEST_CASE("kokkos: a new instance runs kernels") {
  std::vector<int> calls(10, 0);
  space const one = weft::execution::new_instance<space>();
  space const two = weft::execution::new_instance(one);
  weft::execution::for_each(one, 10, count_calls{calls.data()});
  weft::execution::for_each(two, 5, count_calls{calls.data()});
  weft::execution::fence(one, "weft::test");
  weft::execution::fence(two, "weft::test");
  for (std::size_t index = 0; index < calls.size(); ++index) CHECK(calls[index] == (index < 5 ? 2 : 1));
}
