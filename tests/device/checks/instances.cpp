// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Stages and everything above them: engine, optimizer, trainers, their states, the timing of blocks. In one source, or
// the devices' compilers would make the kernels of the stages again for the trainers.
#include "trainers.hpp"

#include <weft/execution/reduce.hpp>
#include <weft/train/asynchronous_state.hpp>
#include <weft/train/hand_over.hpp>
#include <weft/train/measured_speeds.hpp>

template class weft::model::model_stage<device_checks::gpt2, float, device_checks::space>;
template class weft::model::model_stage<device_checks::llama, float, device_checks::space>;
template class weft::model::model_stage<device_checks::gpt2, double, device_checks::space>;
template class weft::model::model_stage<device_checks::llama, double, device_checks::space>;
template class weft::train::trainer<device_checks::gpt2, float, device_checks::space>;
template class weft::train::trainer<device_checks::gpt2, double, device_checks::space>;
template class weft::train::asynchronous_trainer<device_checks::gpt2, float, device_checks::space>;
template double weft::train::seconds_per_block<device_checks::gpt2, float, device_checks::space>(weft::model::extents,
                                                                                                 double);
template void weft::block_norms(device_checks::space const&, float const*, std::int64_t, double*);
template void weft::reduce_into(device_checks::space const&, float const*, std::int64_t, double*, double*);
