// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#pragma once

// Sees every launch of weft with its arguments, every copy of Kokkos's, and every call that may be recorded. Include it
// first, in a program of its own. Arguments are compared as bytes, padding cleared where the compiler can; where it
// cannot, labels and counts alone are.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define WEFT_TEST_CLEARS_PADDING 1
#endif
#endif
#ifndef WEFT_TEST_CLEARS_PADDING
#define WEFT_TEST_CLEARS_PADDING 0
#endif

namespace launch_observer {

inline constexpr bool sees_arguments = WEFT_TEST_CLEARS_PADDING == 1;

struct launch {
  std::string label;
  std::int64_t count = 0;
  std::vector<unsigned char> arguments;
  friend bool operator==(launch const&, launch const&) = default;
};
using key = std::vector<std::uint64_t>;

/// What all ranks, which are threads, have launched.
struct record {
  std::map<key, std::vector<launch>> first;  ///< launches of the first call with a key
  std::map<key, int> calls;
  std::set<std::string> wrong;  ///< kernels whose arguments another call with the key did not repeat
  std::map<std::string, int> labels;
  int repeated = 0;  ///< launches that were compared
};

inline record seen;
inline std::mutex lock;
inline thread_local std::vector<launch> row;
inline thread_local bool is_inside = false;

template <class Arguments>
void see(char const* label, std::int64_t count, Arguments const& arguments) {
  if (!is_inside) return;
  launch made{label, count, {}};
#if WEFT_TEST_CLEARS_PADDING
  alignas(Arguments) unsigned char bytes[sizeof(Arguments)];
  std::memcpy(bytes, static_cast<void const*>(&arguments), sizeof bytes);
  __builtin_clear_padding(std::launder(reinterpret_cast<Arguments*>(bytes)));
  made.arguments.assign(bytes, bytes + sizeof bytes);
#else
  static_cast<void>(arguments);
#endif
  row.push_back(std::move(made));
}

/// Of a copy, what it is told: two addresses and a number of bytes. What fills a view comes from a variable of
/// Kokkos's.
inline void see_copy(Kokkos_Profiling_SpaceHandle, char const* to_name, void const* to, Kokkos_Profiling_SpaceHandle,
                     char const* from_name, void const* from, std::uint64_t bytes) {
  if (!is_inside) return;
  std::string const source(from_name);
  if (source == "Scalar" || source == "(none)") from = nullptr;
  launch made{std::string("copy to ") + to_name, static_cast<std::int64_t>(bytes), {}};
  for (void const* const each : {to, from}) {
    auto const* const begin = reinterpret_cast<unsigned char const*>(&each);
    made.arguments.insert(made.arguments.end(), begin, begin + sizeof each);
  }
  row.push_back(std::move(made));
}

/// From here on copies are seen, too. Call it once Kokkos is initialised.
inline void watch_copies() { Kokkos::Tools::Experimental::set_begin_deep_copy_callback(see_copy); }

inline void see_call(key const& which, bool begins) {
  is_inside = begins;
  if (begins) {
    row.clear();
    return;
  }
  std::lock_guard const guard(lock);
  ++seen.calls[which];
  for (launch const& each : row) ++seen.labels[each.label];
  auto const [known, is_new] = seen.first.emplace(which, row);
  if (is_new) return;
  auto const& before = known->second;
  if (before.size() != row.size()) seen.wrong.insert("another number of launches");
  for (std::size_t index = 0; index < before.size() && index < row.size(); ++index) {
    ++seen.repeated;
    if (before[index] == row[index]) continue;
    std::string place;
    for (std::size_t at = 0; at < row[index].arguments.size() && place.empty(); ++at)
      if (before[index].arguments.size() <= at || before[index].arguments[at] != row[index].arguments[at])
        place = ", byte " + std::to_string(at);
    seen.wrong.insert(row[index].label + place);
  }
}

}  // namespace launch_observer

#define WEFT_OBSERVE_LAUNCH(label, count, arguments) ::launch_observer::see(label, count, arguments)
#define WEFT_OBSERVE_CALL(which, begins) ::launch_observer::see_call(which, begins)
