// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "guarded_memory.hpp"

#include <weft/transport/number_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace weft_test {

/// An array of a device.
template <class Number>
class guarded_array {
 public:
  explicit guarded_array(std::size_t count)
      : data_(static_cast<Number*>(guarded_memory::allocate(count * sizeof(Number)))) {}
  guarded_array(guarded_array const&) = delete;
  guarded_array& operator=(guarded_array const&) = delete;
  ~guarded_array() { guarded_memory::free(data_); }
  [[nodiscard]] Number* data() const { return data_; }

  void put(std::vector<Number> const& values) const {
    guarded_memory::opened const open(data_);
    if (!values.empty()) std::memcpy(data_, values.data(), values.size() * sizeof(Number));
  }
  [[nodiscard]] std::vector<Number> get(std::size_t count) const {
    guarded_memory::opened const open(data_);
    return std::vector<Number>(data_, data_ + count);
  }

 private:
  Number* data_;
};

/// A device's kernels: an addition really happens in the second `is_done` after it was begun.
template <class Number>
class guarded_numbers {
 public:
  [[nodiscard]] Number* make_scratch(std::size_t count) {
    scratch_ = std::make_unique<guarded_array<Number>>(count);
    return scratch_->data();
  }
  std::uint64_t add(Number* own, Number const* received, std::size_t count) {
    under_way_[++begun_] = {own, received, count, 0};
    return begun_;
  }
  [[nodiscard]] bool is_done(std::uint64_t number) {
    auto const found = under_way_.find(number);
    if (found == under_way_.end()) return true;
    if (++found->second.asked < 2) return false;
    run(found->second);
    under_way_.erase(found);
    return true;
  }
  void finish() noexcept {
    for (auto& each : under_way_) run(each.second);
    under_way_.clear();
  }

 private:
  struct addition {
    Number* own = nullptr;
    Number const* received = nullptr;
    std::size_t count = 0;
    int asked = 0;
  };
  static void run(addition const& mine) {
    guarded_memory::opened const one(mine.own);
    guarded_memory::opened const other(mine.received);
    for (std::size_t index = 0; index < mine.count; ++index) mine.own[index] = mine.own[index] + mine.received[index];
  }
  std::unique_ptr<guarded_array<Number>> scratch_;
  std::map<std::uint64_t, addition> under_way_;
  std::uint64_t begun_ = 0;
};
static_assert(weft::transport::number_memory<guarded_numbers<float>, float>);

}  // namespace weft_test
