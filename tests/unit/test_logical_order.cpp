// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/pipeline/logical_order.hpp>
#include <weft/pipeline/wire_header.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace {

using space = Kokkos::DefaultHostExecutionSpace;
using memory = space::memory_space;
using weft::bfloat16;
using weft::scalar;

template <class Data, class Layout>
using array = Kokkos::View<Data, Layout, memory>;

/// A boundary of one component, its bytes filled with what no message holds.
struct wire {
  wire(scalar type, std::int64_t elements) {
    layout.add(type, elements);
    bytes.assign(static_cast<std::size_t>(elements) * 8 + 64, std::byte{0xEE});
  }
  weft::boundary_view<memory> view() { return {bytes.data(), &layout}; }
  weft::boundary layout;
  std::vector<std::byte> bytes;
};

double number(int at) { return 0.5 * at - 7.0; }

/// Every dimension of another extent; element (i, j, k, l) is number(its place in row-major order).
template <class View>
void fill(View const& all, int first, int second, int third, int fourth) {
  int at = 0;
  for (int i = 0; i < first; ++i)
    for (int j = 0; j < second; ++j)
      for (int k = 0; k < third; ++k)
        for (int l = 0; l < fourth; ++l)
          all(i, j, k, l) = static_cast<typename View::non_const_value_type>(number(at++));
}

}  // namespace

TEST_CASE("wire: four dimensions, left and right and padded, are one sequence of numbers") {
  array<double****, Kokkos::LayoutLeft> left("left", 2, 3, 4, 5);
  array<double****, Kokkos::LayoutRight> right("right", 2, 3, 4, 5);
  array<double****, Kokkos::LayoutRight> whole("whole", 3, 4, 4, 9);
  auto const padded = Kokkos::subview(whole, std::pair(1, 3), std::pair(0, 3), Kokkos::ALL(), std::pair(2, 7));
  fill(left, 2, 3, 4, 5);
  fill(right, 2, 3, 4, 5);
  fill(padded, 2, 3, 4, 5);
  auto const written = [&](auto const& from) {
    wire message(scalar::f64, 130);
    auto view = message.view();
    weft::to_wire<double>(space(), from, view, 0);
    space().fence();
    CHECK(view.elements(0) == 120);
    for (int at = 0; at < 120; ++at) CHECK(view.template view<double>(0)(static_cast<std::size_t>(at)) == number(at));
    return message.bytes;
  };
  auto const bytes = written(left);
  CHECK(written(right) == bytes);
  CHECK(written(padded) == bytes);
  CHECK(bytes[120 * 8] == std::byte{0xEE});  // and not one more

  wire message(scalar::f64, 120);
  auto view = message.view();
  weft::to_wire<double>(space(), left, view, 0);
  Kokkos::deep_copy(whole, -1000.0);
  Kokkos::deep_copy(right, -1.0);
  weft::from_wire<double>(space(), view, 0, padded);
  weft::from_wire<double>(space(), view, 0, right);
  space().fence();
  int at = 0, kept = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k)
        for (int l = 0; l < 5; ++l, ++at) {
          CHECK(right(i, j, k, l) == number(at));
          CHECK(padded(i, j, k, l) == number(at));
        }
  for (std::size_t each = 0; each < whole.size(); ++each) kept += whole.data()[each] == -1000.0 ? 1 : 0;
  CHECK(kept == 3 * 4 * 4 * 9 - 120);  // what lies around a padded array is not touched
}

TEST_CASE("wire: one to three dimensions, fixed ones too, and strides") {
  auto const there_and_back = [](auto const& from, auto const& to) {
    wire message(scalar::f32, static_cast<std::int64_t>(from.size()));
    auto view = message.view();
    weft::to_wire<float>(space(), from, view, 0);
    weft::from_wire<float>(space(), view, 0, to);
    space().fence();
  };
  array<float*, Kokkos::LayoutStride> every_third("one", Kokkos::LayoutStride(7, 3));
  array<float*, Kokkos::LayoutRight> flat("flat", 7);
  for (int i = 0; i < 7; ++i) every_third(i) = static_cast<float>(i + 1);
  there_and_back(every_third, flat);
  for (int i = 0; i < 7; ++i) CHECK(flat(i) == static_cast<float>(i + 1));

  array<float* [3], Kokkos::LayoutLeft> two("two", 5);
  array<float**, Kokkos::LayoutRight> other("other", 5, 3);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 3; ++j) two(i, j) = static_cast<float>(10 * i + j);
  there_and_back(two, other);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 3; ++j) CHECK(other(i, j) == static_cast<float>(10 * i + j));

  array<float***, Kokkos::LayoutLeft> three("three", 2, 3, 4);
  array<float***, Kokkos::LayoutRight> again("again", 2, 3, 4);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) three(i, j, k) = static_cast<float>(100 * i + 10 * j + k);
  there_and_back(three, again);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) CHECK(again(i, j, k) == static_cast<float>(100 * i + 10 * j + k));

  array<float**, Kokkos::LayoutLeft> nothing("nothing", 0, 3);
  wire message(scalar::f32, 4);
  auto view = message.view();
  weft::to_wire<float>(space(), nothing, view, 0);
  CHECK(view.elements(0) == 0);
  weft::from_wire<float>(space(), view, 0, nothing);
}

TEST_CASE("wire: a bf16 edge rounds once, and other types are exact") {
  array<double**, Kokkos::LayoutLeft> from("from", 3, 4);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) from(i, j) = 1.0 + 0.01 * (4 * i + j);
  wire message(scalar::bf16, 12);
  auto view = message.view();
  weft::to_wire<bfloat16>(space(), from, view, 0);
  array<float**, Kokkos::LayoutRight> to("to", 3, 4);
  weft::from_wire<bfloat16>(space(), view, 0, to);
  space().fence();
  CHECK(view.bytes() == 24);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) {
      float const wanted = static_cast<float>(bfloat16(static_cast<float>(from(i, j))));
      CHECK(to(i, j) == wanted);
      CHECK(to(i, j) - from(i, j) <= from(i, j) / 256.0);
      CHECK(from(i, j) - to(i, j) <= from(i, j) / 256.0);
    }
  // Where a float would be half way between two numbers of 16 bits, and the double is not.
  array<double*, Kokkos::LayoutRight> odd("odd", 6);
  array<float*, Kokkos::LayoutRight> nearest("nearest", 6);
  odd(0) = 1.0 + 0x1p-8 + 0x1p-40, odd(1) = -1.0 - 0x1p-8 - 0x1p-40, odd(2) = 1.0 + 0x3p-8 - 0x1p-40;
  odd(3) = 1.0 + 0x1p-8, odd(4) = 1e300, odd(5) = -1e-300;
  float const rounded[] = {1.0F + 0x1p-7F, -1.0F - 0x1p-7F, 1.0F + 0x1p-7F, 1.0F, INFINITY, -0.0F};
  wire third(scalar::bf16, 6);
  auto of_odd = third.view();
  weft::to_wire<bfloat16>(space(), odd, of_odd, 0);
  weft::from_wire<bfloat16>(space(), of_odd, 0, nearest);
  space().fence();
  for (int i = 0; i < 6; ++i) CHECK(nearest(i) == rounded[i]);
  // What 16 bits hold comes back as it was; integers do in any case.
  array<std::int32_t**, Kokkos::LayoutLeft> labels("labels", 2, 2), heard("heard", 2, 2);
  labels(0, 0) = -5, labels(0, 1) = 1 << 30, labels(1, 0) = 3, labels(1, 1) = 0;
  wire second(scalar::i32, 4);
  auto of_labels = second.view();
  weft::to_wire<std::int32_t>(space(), labels, of_labels, 0);
  weft::from_wire<std::int32_t>(space(), of_labels, 0, heard);
  space().fence();
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) CHECK(heard(i, j) == labels(i, j));
}

TEST_CASE("wire: another type, too many numbers, another shape are refused") {
  array<double**, Kokkos::LayoutLeft> from("from", 3, 4);
  wire narrow(scalar::bf16, 12);
  auto view = narrow.view();
  CHECK_THROWS_WITH_AS(weft::to_wire<double>(space(), from, view, 0),
                       doctest::Contains("component 0 does not exist or has another element type"), weft::error);
  wire small(scalar::f64, 11);
  auto short_view = small.view();
  CHECK_THROWS_WITH_AS(static_cast<void>(view.view<double>(-1)), doctest::Contains("component -1 does not exist"),
                       weft::error);
  CHECK_THROWS_WITH_AS(weft::to_wire<double>(space(), from, short_view, 0),
                       doctest::Contains("component 0 cannot hold 12 elements"), weft::error);
  array<double**, Kokkos::LayoutRight> to("to", 3, 5);
  wire right(scalar::f64, 12);
  CHECK_THROWS_WITH_AS(weft::from_wire<double>(space(), right.view(), 0, to),
                       "weft::boundary: component 0 has brought 12 numbers for an array of 3 x 5; give both ends "
                       "arrays of the same extents",
                       weft::error);
}

TEST_CASE("wire: the prefix of a message is what it is on every machine") {
  weft::wire_prefix prefix;
  prefix.header = {0x0102, 1, weft::wire_version, 0x03040506, 0x0708090A0B0C0D0E};
  prefix.counts[0] = 5;
  weft::set_types(prefix, weft::boundary().add(scalar::bf16, 5).add(scalar::i32, 2, false));
  unsigned char bytes[sizeof prefix];
  std::memcpy(bytes, &prefix, sizeof prefix);
  unsigned char const wanted[] = {0x02, 0x01, 1, 2, 6, 5, 4, 3, 0x0E, 0x0D, 0x0C, 0x0B, 0x0A, 9, 8, 7, 5, 0, 0, 0};
  CHECK(std::memcmp(bytes, wanted, sizeof wanted) == 0);
  CHECK(bytes[80] == 4);
  CHECK(bytes[81] == 6);
  CHECK(bytes[82] == 0);
}
