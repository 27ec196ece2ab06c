// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "models.hpp"

#include <weft/train/asynchronous_trainer.hpp>
#include <weft/train/trainer.hpp>

extern template class weft::train::trainer<device_checks::gpt2, float, device_checks::space>;
extern template class weft::train::trainer<device_checks::gpt2, double, device_checks::space>;
extern template class weft::train::asynchronous_trainer<device_checks::gpt2, float, device_checks::space>;
