// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// A Kokkos tool that writes down every event that has a name, and hands the list to the test that runs under it.
/// The interface is Kokkos's (impl/Kokkos_Profiling_C_Interface.h), the same from 3.4 to 5.

#include "recorder.hpp"

#include <cstdint>
#include <mutex>

namespace {

struct space_handle {
  char name[64];
};

std::mutex mutex;
weft_tool::events& list() {
  static auto* const all = new weft_tool::events;  // Kokkos may call as late as at the process's end
  return *all;
}

void note(char const* kind, char const* name) {
  std::lock_guard const lock(mutex);
  list().push_back({kind, name == nullptr ? "" : name});
}

}  // namespace

extern "C" {

void weft_tool_take(weft_tool::events* into) {
  std::lock_guard const lock(mutex);
  into->clear();
  into->swap(list());
}

void kokkosp_push_profile_region(char const* name) { note("push", name); }
void kokkosp_pop_profile_region() { note("pop", ""); }

void kokkosp_begin_parallel_for(char const* name, std::uint32_t, std::uint64_t* kernel) {
  *kernel = 0;
  note("parallel_for", name);
}
void kokkosp_begin_parallel_reduce(char const* name, std::uint32_t, std::uint64_t* kernel) {
  *kernel = 0;
  note("parallel_reduce", name);
}
void kokkosp_begin_parallel_scan(char const* name, std::uint32_t, std::uint64_t* kernel) {
  *kernel = 0;
  note("parallel_scan", name);
}
void kokkosp_begin_fence(char const* name, std::uint32_t, std::uint64_t* fence) {
  *fence = 0;
  note("fence", name);
}
void kokkosp_allocate_data(space_handle, char const* name, void const*, std::uint64_t) { note("allocate", name); }
void kokkosp_begin_deep_copy(space_handle, char const* to, void const*, space_handle, char const* from, void const*,
                             std::uint64_t) {
  note("copy to", to);
  note("copy from", from);
}
}
