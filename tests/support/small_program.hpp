// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/schedule/lower.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/program.hpp>
#include <weft/schedule/write_table.hpp>

namespace weft_test {

/// What a door of a vendor's library is made with where a test plays no pipeline.
inline weft::schedule::program small_program() {
  namespace schedule = weft::schedule;
  return schedule::lower(
      schedule::write_table<schedule::one_f_one_b>(2, 2).view(),
      {.tied = schedule::tied_stages::none, .optimizer = false, .receives = schedule::receive_time::at_use});
}

}  // namespace weft_test
