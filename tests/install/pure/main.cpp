// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/config.hpp>
#include <weft/schedule/action.hpp>

constexpr auto action = weft::schedule::make_action(weft::schedule::op::forward, 3, 5);
static_assert(action.stage == 3 && action.micro_batch == 5);

int main() { return action.what == weft::schedule::op::forward ? 0 : 1; }
