// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace weft_test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
inline constexpr bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool is_sanitized = false;
#endif

/// Thins a sweep under a sanitizer, which looks at statements and not at how many shapes run through them, and takes
/// ten times as long: one turn of so many is taken there, and every turn elsewhere. Where that number has no factor in
/// common with the lengths of the inner loops, each of their values is met.
class sweep {
 public:
  explicit sweep(int one_of) : one_of_(one_of) {}

  [[nodiscard]] bool skips() { return is_sanitized && turn_++ % one_of_ != 0; }

 private:
  int one_of_;
  int turn_ = 0;
};

}  // namespace weft_test
