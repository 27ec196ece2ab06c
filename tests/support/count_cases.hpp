// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>

namespace weft_test {

/// Counts the cases that ran. A filter that matches nothing, or a file whose cases are not linked, passes in doctest;
/// here it fails.
class count_cases : public doctest::IReporter {
 public:
  explicit count_cases(doctest::ContextOptions const&) {}

  static int ran() { return counter(); }

  void test_case_start(doctest::TestCaseData const&) override { ++counter(); }

  void report_query(doctest::QueryData const&) override {}
  void test_run_start() override {}
  void test_run_end(doctest::TestRunStats const&) override {}
  void test_case_reenter(doctest::TestCaseData const&) override {}
  void test_case_end(doctest::CurrentTestCaseStats const&) override {}
  void test_case_exception(doctest::TestCaseException const&) override {}
  void subcase_start(doctest::SubcaseSignature const&) override {}
  void subcase_end() override {}
  void log_assert(doctest::AssertData const&) override {}
  void log_message(doctest::MessageData const&) override {}
  void test_case_skipped(doctest::TestCaseData const&) override {}

 private:
  static int& counter() {
    static int value = 0;
    return value;
  }
};

}  // namespace weft_test
