// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

namespace weft::inline v1::model {

/// `Count` layers of one type, numbered from 0.
template <int Count, class Layer>
struct repeat {
  static_assert(Count >= 0, "weft::repeat: the count is negative; name how many layers there are");
};

/// How many layers an argument of `chain` stands for, and of which type.
template <class Layer>
struct layer_traits {
  static constexpr int count = 1;
  using layer = Layer;
};

template <int Count, class Layer>
struct layer_traits<repeat<Count, Layer>> {
  static constexpr int count = Count;
  using layer = Layer;
};

}  // namespace weft::inline v1::model

namespace weft::inline v1 {
using model::repeat;
}
