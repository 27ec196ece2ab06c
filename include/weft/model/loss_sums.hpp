// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/mirror.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <vector>

namespace weft::inline v1::model {

/// The loss of each micro-batch of a program: where heads leave it, and where the host asks for it. Does not
/// communicate.
template <class Space>
class loss_sums {
 public:
  /// Zeros for so many micro-batches. Does not wait.
  void begin(Space const& space, std::size_t micro_batches) {
    if (there_.extent(0) < micro_batches) {
      there_ = view("weft::loss_sums", micro_batches);
      here_ = execution::make_mirror("weft::loss_sums_mirror", there_);
    }
    host_.assign(micro_batches, 0.0);
    Kokkos::deep_copy(space, there_, 0.0);
  }

  [[nodiscard]] double* of(int micro_batch) const { return there_.data() + micro_batch; }

  /// Waits for what was queued on `space`.
  void fetch(Space const& space) {
    Kokkos::deep_copy(space, here_, there_);
    execution::fence(space, "weft::loss_sums");
    for (std::size_t index = 0; index < host_.size(); ++index) host_[index] = here_(index);
  }
  /// As of the last `fetch`; zeros where there was none.
  [[nodiscard]] std::vector<double> const& on_host() const { return host_; }

 private:
  using view = Kokkos::View<double*, Kokkos::LayoutRight, typename Space::memory_space>;
  view there_;
  execution::mirror_of<view> here_;
  std::vector<double> host_;
};

}  // namespace weft::inline v1::model
