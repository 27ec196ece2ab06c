// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A trainer of the other 16-bit type, with its loss scale.
#include <weft/execution/reduced.hpp>
#include <weft/model/gpt2.hpp>
#include <weft/train/trainer.hpp>

template class weft::train::trainer<weft::model::gpt2<weft::model::nano>, weft::fp16_mixed,
                                    Kokkos::DefaultExecutionSpace>;
