// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The tests of test_llama.cpp with attention as devices do it: gradients, and no more memory than was asked for.
#include <weft/model/causal_attention.hpp>

template <>
inline constexpr bool weft::model::fuses_attention<Kokkos::DefaultHostExecutionSpace> = true;

#include "test_llama.cpp"
