// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <bit>
#include <cstdint>
#include <vector>

namespace weft::inline v1::model {

/// All that the arguments of one call's kernels depend on, as execution::call_graphs asks for it: numbers and addresses
/// in a fixed order. Kept from call to call, so that it allocates once.
class call_key {
 public:
  void clear() { parts_.clear(); }
  void add(int number) { parts_.push_back(static_cast<std::uint64_t>(number)); }
  void add(double number) { parts_.push_back(std::bit_cast<std::uint64_t>(number)); }
  void add(void const* address) { parts_.push_back(reinterpret_cast<std::uintptr_t>(address)); }

  [[nodiscard]] std::vector<std::uint64_t> const& parts() const { return parts_; }

 private:
  std::vector<std::uint64_t> parts_;
};

}  // namespace weft::inline v1::model
