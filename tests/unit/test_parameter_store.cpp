// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <weft/execution/reduced.hpp>
#include <weft/parameters/parameter_store.hpp>

#include <Kokkos_Core.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace {

using space = Kokkos::DefaultHostExecutionSpace;
using store = weft::parameters::parameter_store<float, space>;
using weft::parameters::initializer;
using weft::parameters::parameter_descriptor;

parameter_descriptor normal(std::string name, std::int64_t rows, std::int64_t columns) {
  return {.name = std::move(name),
          .extents = {rows, columns, 1, 1},
          .dimensions = 2,
          .init = initializer::normal,
          .standard_deviation = 0.5};
}

std::vector<float> values(store const& from, int entry) {
  auto const& which = from.entries()[static_cast<std::size_t>(entry)];
  std::vector<float> host(static_cast<std::size_t>(which.elements));
  store::read(from.value(which), host.data());
  return host;
}

}  // namespace

TEST_CASE("parameter_store: entries lie one after the other, at fixed addresses, apart") {
  store made;
  CHECK(made.add_stage(4, {normal("a", 3, 5), normal("b", 1, 64)}) == 0);
  CHECK(made.add_stage(2, {normal("c", 2, 2)}) == 2);
  REQUIRE(made.entries().size() == 3);
  CHECK(made.entries()[0].stage == 4);
  CHECK(made.entries()[1].offset == 64);
  CHECK(made.entries()[2].stage == 2);
  CHECK(made.entries()[2].elements == 4);
  auto const& entry = made.entries()[1];
  CHECK(made.value(entry).extent(0) == 64);
  std::vector<float*> const all = {made.value(entry).data(),
                                   made.next_value(entry).data(),
                                   made.gradient(entry).data(),
                                   made.first_moment(entry).data(),
                                   made.next_first_moment(entry).data(),
                                   made.second_moment(entry).data(),
                                   made.next_second_moment(entry).data()};
  CHECK(all.size() == static_cast<std::size_t>(store::copies));
  for (std::size_t one = 0; one < all.size(); ++one)
    for (std::size_t other = one + 1; other < all.size(); ++other) CHECK(all[one] != all[other]);
}

TEST_CASE("parameter_store: a tied parameter's uses share value and moments, in one stage or two, and no gradient") {
  auto const tied = [](int site) {
    auto made = normal("table", 10, 12);
    made.tie_group = 0;
    made.use_site = site;
    return made;
  };
  for (bool const apart : {true, false}) {
    CAPTURE(apart);
    store made;
    if (apart) {
      made.add_stage(0, {tied(0), normal("a", 3, 5)});
      made.add_stage(3, {normal("b", 2, 2), tied(1), normal("c", 2, 2)});
    } else {
      made.add_stage(0, {tied(0), normal("a", 3, 5), normal("b", 2, 2), tied(1), normal("c", 2, 2)});
    }
    made.initialize(3);
    auto const& first = made.entries()[0];
    auto const& second = made.entries()[3];
    CHECK(first.owner == -1);
    CHECK(second.owner == 0);
    for (int turn = 0; turn < 2; ++turn) {
      CHECK(made.value(first).data() == made.value(second).data());
      CHECK(made.next_value(first).data() == made.next_value(second).data());
      CHECK(made.first_moment(first).data() == made.first_moment(second).data());
      CHECK(made.next_second_moment(first).data() == made.next_second_moment(second).data());
      made.commit();
    }
    CHECK(made.gradient(first).data() != made.gradient(second).data());
    CHECK(values(made, 2) != values(made, 4));
    // Room: 120 numbers are 128, 15 and 4 are 64; six of each that owns its value, and a gradient of every one.
    CHECK(made.bytes() == (6 * (128 + 3 * 64) + 2 * 128 + 3 * 64) * sizeof(float));
  }
}

TEST_CASE("parameter_store: initial values depend on seed, name and element only") {
  store together;
  together.add_stage(0, {normal("w", 40, 50), normal("v", 40, 50)});
  together.initialize(7);
  store apart;
  apart.add_stage(1, {normal("filler", 3, 3)});
  apart.add_stage(3, {normal("v", 40, 50), normal("w", 40, 50)});
  apart.initialize(7);
  CHECK(values(together, 0) == values(apart, 2));
  CHECK(values(together, 1) == values(apart, 1));
  CHECK(values(together, 0) != values(together, 1));
  store other_seed;
  other_seed.add_stage(0, {normal("w", 40, 50)});
  other_seed.initialize(8);
  CHECK(values(together, 0) != values(other_seed, 0));
  double sum = 0.0;
  double squares = 0.0;
  for (float const value : values(together, 0)) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  CHECK(std::abs(sum / 2000.0) < 0.05);
  CHECK(std::abs(std::sqrt(squares / 2000.0) - 0.5) < 0.03);
}

TEST_CASE("parameter_store: a longer tensor begins with the same numbers, and the other kinds are constant") {
  store made;
  made.add_stage(0, {normal("w", 1, 10),
                     {.name = "one", .extents = {3, 1, 1, 1}, .init = initializer::ones},
                     {.name = "zero", .extents = {3, 1, 1, 1}}});
  made.initialize(7);
  store longer;
  longer.add_stage(0, {normal("w", 1, 13)});
  longer.initialize(7);
  auto head = values(longer, 0);
  head.resize(10);
  CHECK(values(made, 0) == head);
  CHECK(values(made, 1) == std::vector<float>(3, 1.0F));
  CHECK(values(made, 2) == std::vector<float>(3, 0.0F));
}

TEST_CASE("parameter_store: STEP writes the other slot, commit swaps, and not committing changes nothing") {
  store made;
  made.add_stage(0, {normal("w", 2, 2)});
  made.initialize(7);
  auto const& entry = made.entries()[0];
  auto const before = values(made, 0);
  float const next[4] = {1.0F, 2.0F, 3.0F, 4.0F};
  store::write(made.next_value(entry), next);
  store::write(made.next_first_moment(entry), next);
  CHECK(values(made, 0) == before);
  float* const other = made.next_value(entry).data();
  made.commit();
  CHECK(values(made, 0) == std::vector<float>(next, next + 4));
  CHECK(made.value(entry).data() == other);
  CHECK(made.first_moment(entry)(3) == 4.0F);
  CHECK(made.next_value(entry)(0) == before[0]);
  made.roll_back();
  CHECK(values(made, 0) == before);
  CHECK(made.first_moment(entry)(3) == 0.0F);
  CHECK(made.next_value(entry)(0) == 1.0F);
  made.commit();
  made.keep(space(), entry);
  made.commit();
  CHECK(values(made, 0) == std::vector<float>(next, next + 4));
  CHECK(made.first_moment(entry)(3) == 4.0F);
}

TEST_CASE("parameter_store: gradients start at zero and are zeroed") {
  store made;
  made.add_stage(0, {normal("w", 2, 2)});
  auto const& entry = made.entries()[0];
  CHECK(made.gradient(entry)(3) == 0.0F);
  made.gradient(entry)(3) = 5.0F;
  made.zero_gradients(space());
  Kokkos::fence();
  CHECK(made.gradient(entry)(3) == 0.0F);
}

TEST_CASE("parameter_store: copies in the type that layers compute in turn with the values") {
  using mixed = weft::parameters::parameter_store<weft::bf16_mixed, space>;
  static_assert(mixed::has_copies && !store::has_copies);
  auto const is_copied = [](mixed const& from, auto const& which, int age) {
    auto const value = from.value(which, age);
    auto const copy = from.compute_value(which, age);
    for (std::size_t index = 0; index < value.extent(0); ++index)
      if (copy(index).bits != weft::bfloat16(value(index)).bits) return false;
    return true;
  };
  mixed made;
  made.add_stage(0, {normal("a", 3, 5), normal("b", 1, 64)});
  made.keep_values(0, 3);
  made.initialize(7);
  store plain;
  plain.add_stage(0, {normal("a", 3, 5), normal("b", 1, 64)});
  plain.initialize(7);
  auto const& entry = made.entries()[1];
  CHECK(is_copied(made, entry, 0));
  for (std::size_t index = 0; index < 64; ++index)
    CHECK(made.value(entry)(index) == plain.value(plain.entries()[1])(index));
  // Room for 64 and 64 numbers: three values, four moments, a gradient; and three copies of two bytes.
  CHECK(made.bytes() == 128 * (8 * sizeof(float) + 3 * 2));
  for (std::size_t index = 0; index < 64; ++index) {
    made.next_value(entry)(index) = static_cast<float>(index) * 0.1F;
    made.next_compute_value(entry)(index) = weft::bfloat16(made.next_value(entry)(index));
  }
  made.commit(0);
  CHECK(made.value(entry)(10) == 1.0F);
  CHECK(is_copied(made, entry, 0));
  CHECK(is_copied(made, entry, 1));
  made.roll_back();
  CHECK(is_copied(made, entry, 0));
  CHECK(made.value(entry)(10) == plain.value(plain.entries()[1])(10));
  made.keep(space{}, entry);
  made.commit(0);
  CHECK(is_copied(made, entry, 0));
  made.value(entry)(5) = 77.0F;
  made.value(entry, 1)(5) = 78.0F;
  CHECK(!is_copied(made, entry, 0));
  made.refresh_copies();
  CHECK(is_copied(made, entry, 0));
  CHECK(is_copied(made, entry, 1));
  // Without copies, the value itself is read.
  CHECK(plain.compute_value(plain.entries()[0]).data() == plain.value(plain.entries()[0]).data());
}
