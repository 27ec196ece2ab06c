// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every kernel of execution/, parameters/, model/ and train/ for a CUDA device, with the engine and the trainer that launch
// them, for one type of numbers (WEFT_TEST_REAL). Compiled, never run: see cuda.sh, which also says if a kernel of the
// headers is missing here.
#include <weft/execution/reduce.hpp>
#include <weft/model/gpt2.hpp>
#include <weft/model/llama.hpp>
#include <weft/model/model_stage.hpp>
#include <weft/parameters/parameter_store.hpp>
#include <weft/train/trainer.hpp>

namespace {
using model = weft::model::gpt2<weft::model::nano>;
using llama = weft::model::llama<weft::model::llama_nano>;
}

template class weft::parameters::parameter_store<WEFT_TEST_REAL, Kokkos::Cuda>;
template class weft::model::model_stage<model, WEFT_TEST_REAL, Kokkos::Cuda>;
template class weft::model::model_stage<llama, WEFT_TEST_REAL, Kokkos::Cuda>;
template class weft::train::trainer<model, WEFT_TEST_REAL, Kokkos::Cuda>;
template void weft::block_norms(Kokkos::Cuda const&, WEFT_TEST_REAL const*, std::int64_t, double*);
template void weft::reduce_into(Kokkos::Cuda const&, WEFT_TEST_REAL const*, std::int64_t, double*, double*);
