// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/action_name.hpp>

#include <Kokkos_Core.hpp>

#include <string>
#include <utility>

/// @file
/// What a Kokkos tool (KOKKOS_TOOLS_LIBS; KOKKOS_PROFILE_LIBRARY before Kokkos 4) is told beside kernels: which action
/// of the program a rank is at, as a region. Nothing here communicates.

namespace weft::inline v1::profiling {

/// True while a tool is loaded. A few dozen instructions: ask once a step, not once an action.
[[nodiscard]] inline bool has_tool() { return Kokkos::Profiling::profileLibraryLoaded(); }

/// `weft::stage 2 F5`, `weft::stage 2 REDUCE_GRAD`, `weft::NORM`: the letters of docs/glossary.md; a micro-batch where
/// the action has one, a stage where it has one.
[[nodiscard]] inline std::string region_name(schedule::op what, int stage, int micro_batch) {
  std::string name("weft::");
  if (schedule::has_stage(what)) name += "stage " + std::to_string(stage) + ' ';
  return name + schedule::action_name(what, micro_batch);
}

/// A named region of a Kokkos tool that ends with its scope, by an exception too. Kokkos's own `ScopedRegion` is not in
/// 3.4, and would make the name's string where nobody reads it.
///
/// Regions are a stack, one for the process. Where ranks are threads (`transport::in_process`), those of compute
/// actions nest, since the launch lock is held around them; those of collectives (NORM, REDUCE_GRAD) may interleave.
class region {
 public:
  /// `make_name()` is called only if `is_heard`.
  template <class MakeName>
  region(bool is_heard, MakeName&& make_name) : is_pushed_(is_heard) {
    if (is_pushed_) Kokkos::Profiling::pushRegion(std::forward<MakeName>(make_name)());
  }
  region(bool is_heard, schedule::op what, int stage, int micro_batch)
      : region(is_heard, [&] { return region_name(what, stage, micro_batch); }) {}

  region(region const&) = delete;
  region& operator=(region const&) = delete;
  ~region() {
    if (is_pushed_) Kokkos::Profiling::popRegion();
  }

 private:
  bool is_pushed_;
};

}  // namespace weft::inline v1::profiling
