// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "models.hpp"

template class weft::model::model_stage<device_checks::gpt2, double, device_checks::space>;
template class weft::model::model_stage<device_checks::llama, double, device_checks::space>;
