// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/device.hpp>
#include <weft/execution/recording.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <exception>
#include <string>
#include <type_traits>

namespace weft::inline v1::execution {

namespace detail {

/// What is free of the memory that could not be had, where the vendor or the system tells.
template <class MemorySpace>
std::string words_on_free_memory() {
  constexpr bool is_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible;
  using space = std::conditional_t<is_host, Kokkos::DefaultHostExecutionSpace, typename MemorySpace::execution_space>;
  try {
    device_facts const facts = facts_of_device<space>();
    return ", where " + std::to_string(facts.free_bytes) + " of " + std::to_string(facts.bytes) + " bytes are free (" +
           facts.name + ")";
  } catch (std::exception const&) {
    return "";  // the failure itself is the message
  }
}

}  // namespace detail

/// A view of `count` elements, zeroed unless `arguments` (of Kokkos::view_alloc, such as WithoutInitializing) say
/// otherwise. Throws `memory_error` where the memory is not to be had, with what was asked and what is free; a door's
/// `guarded` adds the rank and tells the others. Does not communicate.
template <class View, class... Arguments>
[[nodiscard]] View allocate(char const* label, std::size_t count, Arguments const&... arguments) {
  using element = typename View::value_type;
  recording::refuse("is allocated", label);
  try {
    return View(Kokkos::view_alloc(std::string(label), arguments...), count);
  } catch (std::exception const& failure) {
    std::string why(failure.what());
    why.resize(why.find('\n') < why.size() ? why.find('\n') : why.size());
    throw memory_error(std::to_string(count * sizeof(element)) + " bytes for '" + label +
                       "' could not be had from the " + View::memory_space::name() + " memory" +
                       detail::words_on_free_memory<typename View::memory_space>() +
                       "; cut smaller micro-batches, use more pipeline ranks, a schedule with fewer activations or "
                       "recomputation (Kokkos says: " +
                       why + ")");
  }
}

}  // namespace weft::inline v1::execution
