// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/mirror.hpp>
#include <weft/execution/reduce.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

/// The sum of squares of some tensors, in double: tensor after tensor, of each block after block (reduce.hpp), one
/// addition after the other. Allocates in its constructor alone. Does not communicate.
template <class View, class Space>
class square_sum {
 public:
  /// `tensors` will be asked for together, or one of `largest` elements.
  square_sum(std::vector<View> tensors, std::int64_t largest) : tensors_(std::move(tensors)) {
    std::int64_t all = reduction::blocks_of(largest);
    std::int64_t own = 0;
    for (View const& each : tensors_) own += blocks_in(each);
    if (own > all) all = own;
    blocks_ = storage("weft::block_norms", static_cast<std::size_t>(all));
    host_ = execution::make_mirror("weft::block_norms_mirror", blocks_);
  }

  /// Of the tensors that it was made for. Waits for `space`.
  [[nodiscard]] double of_all(Space const& space) { return sum(space, tensors_.data(), tensors_.size()); }
  /// Of another one.
  [[nodiscard]] double of(Space const& space, View const& tensor) { return sum(space, &tensor, 1); }

 private:
  using storage = Kokkos::View<double*, Kokkos::LayoutRight, typename Space::memory_space>;

  [[nodiscard]] static std::int64_t blocks_in(View const& tensor) {
    return reduction::blocks_of(static_cast<std::int64_t>(tensor.extent(0)));
  }

  [[nodiscard]] double sum(Space const& space, View const* tensors, std::size_t count) {
    std::int64_t next = 0;
    for (std::size_t index = 0; index < count; ++index) {
      block_norms(space, static_cast<typename View::const_value_type*>(tensors[index].data()),
                  static_cast<std::int64_t>(tensors[index].extent(0)), blocks_.data() + next);
      next += blocks_in(tensors[index]);
    }
    Kokkos::deep_copy(space, host_, blocks_);
    execution::fence(space, "weft::norm");
    double total = 0.0;
    for (std::int64_t block = 0; block < next; ++block) total += host_(static_cast<std::size_t>(block));
    return total;
  }

  std::vector<View> tensors_;
  storage blocks_;
  execution::mirror_of<storage> host_;
};

}  // namespace weft::inline v1::train
