// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>

#include <cstddef>
#include <string>

namespace weft::inline v1::execution {

/// While it lives, this thread records a call that graph.hpp will play again. What then waits or allocates is refused,
/// on hosts too: the replay would not do it.
class recording {
 public:
  recording() { depth() += 1; }
  recording(recording const&) = delete;
  recording& operator=(recording const&) = delete;
  ~recording() { depth() -= 1; }

  /// Throws weft::error where this thread records. `does`: a verb; `what`: who, by label.
  static void refuse(char const* does, char const* what) {
    if (depth() == 0) return;
    throw error(std::string("weft::graph: '") + what + "' " + does +
                " in the midst of a call that is recorded, and no replay would; do it in prepare or begin, or train "
                "without capture");
  }

  /// Bytes from which on Kokkos does not hand a functor, with its policy, to the kernel as an argument: it copies it to
  /// constant memory, and waits until the launch before is done with that (ConstantMemoryUseThreshold, of CUDA and
  /// HIP).
  static constexpr std::size_t too_large = 512;

  /// The same for a launch that takes that way.
  static void refuse_launch(char const* what, std::size_t bytes) {
    if (depth() == 0) return;
    throw error(
        std::string("weft::graph: the launch of '") + what + "' takes " + std::to_string(bytes) + " bytes, and from " +
        std::to_string(too_large) +
        " on a device's launches wait, which a recorded call cannot; let the functor point to what it holds, or "
        "train without capture");
  }

 private:
  static int& depth() {
    thread_local int number = 0;
    return number;
  }
};

}  // namespace weft::inline v1::execution
