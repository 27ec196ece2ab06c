// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/play_locally.hpp>
#include <weft/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace weft::inline v1::transport {

/// How a running collective adds where its numbers are. An addition is begun and has a number, larger than those of
/// earlier ones; once `is_done(number)`, which never waits, both of its arrays may be used again.
template <class Memory, class Number>
concept number_memory = std::move_constructible<Memory> &&
    requires(Memory& memory, Number* own, Number const* received, std::size_t count, std::uint64_t number) {
  { memory.make_scratch(count) } -> std::same_as<Number*>;  ///< once; as long as the object lives
  { memory.add(own, received, count) } -> std::same_as<std::uint64_t>;
  { memory.is_done(number) } -> std::same_as<bool>;
  memory.finish();  ///< waits for all additions, after a failure
};

/// Numbers in the host's memory: each addition is done at once.
template <class Number>
class host_numbers {
 public:
  [[nodiscard]] Number* make_scratch(std::size_t count) {
    scratch_.resize(count);
    return scratch_.data();
  }
  std::uint64_t add([[maybe_unused]] Number* own, [[maybe_unused]] Number const* received,
                    [[maybe_unused]] std::size_t count) {
    if constexpr (std::is_arithmetic_v<Number>) collective::add_received(own, received, count);
    return 0;
  }
  [[nodiscard]] bool is_done(std::uint64_t) const { return true; }
  void finish() const noexcept {}

 private:
  std::vector<Number> scratch_;
};

}  // namespace weft::inline v1::transport
