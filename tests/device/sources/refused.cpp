// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A kernel that calls what only the host has; without the call it must compile, with it (WEFT_TEST_HOST_CALL) it must
// not: cuda.sh and hip.sh would otherwise prove nothing of the kernels that they compile.
#include <weft/execution/kokkos.hpp>

#include <cstdint>

inline double only_the_host_has_this() { return 1.0; }

struct kernel {
  static constexpr char const* label = "weft::test_refused";
  double* out;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const {
#ifdef WEFT_TEST_HOST_CALL
    out[index] = only_the_host_has_this();
#else
    out[index] = 1.0;
#endif
  }
};

void launch(Kokkos::DefaultExecutionSpace const& space, double* out) {
  weft::execution::for_each(space, 1, kernel{out});
}
