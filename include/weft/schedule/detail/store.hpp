// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>

namespace weft::inline v1::schedule::detail {

using weft::detail::buffer;

/// The sizes of everything that `play` keeps, where they are known while compiling.
struct play_size {
  int ranks = 0;
  int stages = 0;  ///< of all copies together
  int edges = 0;
  int copies = 1;
  int degree = 1;
  int micro_batches = 0;
  int slots = 0;  ///< the most message slots of one kind on one stage
  int kept = 0;   ///< the most activation or weight-context slots on one stage

  friend constexpr bool operator==(play_size const&, play_size const&) = default;
};

/// A `buffer` of fixed size: the compiler reads and writes it twice as fast as what `new` returns, and its state can be
/// carried from one constant to the next. The size it is constructed with is ignored.
template <class Type, int Size>
struct fixed_array {
  constexpr fixed_array() = default;
  explicit constexpr fixed_array(int) {}

  [[nodiscard]] constexpr Type* data() { return values; }
  [[nodiscard]] constexpr Type const* data() const { return values; }
  [[nodiscard]] constexpr int size() const { return Size; }
  [[nodiscard]] constexpr Type* begin() { return values; }
  [[nodiscard]] constexpr Type* end() { return values + Size; }
  [[nodiscard]] constexpr Type const* begin() const { return values; }
  [[nodiscard]] constexpr Type const* end() const { return values + Size; }
  constexpr Type& operator[](int index) { return values[index]; }
  constexpr Type const& operator[](int index) const { return values[index]; }

  Type values[Size > 0 ? Size : 1] = {};
};

/// Sizes come at run time.
struct dynamic_store {
  static constexpr int ranks = 0;
  static constexpr int stages = 0;
  static constexpr int edges = 0;
  static constexpr int wires = 0;
  static constexpr int channels = 0;
  static constexpr int messages = 0;
  static constexpr int items = 0;
  static constexpr int posts = 0;
  static constexpr int message_slots = 0;
  static constexpr int kept_slots = 0;

  template <class Type, int>
  using array = buffer<Type>;
};

template <play_size Size>
struct fixed_store {
  static constexpr int ranks = Size.ranks;
  static constexpr int stages = Size.stages;
  static constexpr int edges = Size.edges;
  static constexpr int wires = Size.edges * Size.copies;
  static constexpr int channels = 2 * wires;
  static constexpr int messages = channels * Size.micro_batches;
  static constexpr int items = Size.stages * Size.micro_batches;
  static constexpr int posts = Size.stages * 4 * Size.degree;
  static constexpr int message_slots = channels * Size.slots;
  static constexpr int kept_slots = Size.stages * Size.kept;

  template <class Type, int Count>
  using array = fixed_array<Type, Count>;
};

}  // namespace weft::inline v1::schedule::detail
