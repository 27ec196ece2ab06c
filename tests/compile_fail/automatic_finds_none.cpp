// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: weft::schedule::automatic: no schedule of the registry keeps to the limits for this many ranks
// expect: automatic_must_find_one

#include <weft/plan/policies.hpp>
#include <weft/schedule/automatic.hpp>

using namespace weft;

#ifdef WEFT_TWIN
using limit = memory_limit<1000>;
#else
using limit = memory_limit<100>;  // less than the weights alone
#endif

using wanted = schedule::automatic<limit, schedule::rank_bytes<200, 20, 300>>;
constexpr int chunks = wanted::chosen<2, 2>::chunks;
