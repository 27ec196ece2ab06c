// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule::automatic: one of the arguments says nothing about memory or time

#include <weft/plan/policies.hpp>
#include <weft/schedule/automatic.hpp>

using namespace weft;

#ifdef WEFT_TWIN
using argument = schedule::activation_limit<2>;
#else
using argument = micro_batches<2>;
#endif

constexpr double limit = schedule::automatic<argument>::wish::value.activations;
