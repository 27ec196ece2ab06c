// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// For one source file of a program whose others define WEFT_EXTERN_TRANSPORT; include nothing of weft before it. See
/// transport/extern_transport.hpp.

#if defined(WEFT_TRANSPORT_INLINE)
#error "weft: <weft/transport/source.hpp> must be the first header of weft in its source file"
#endif
#define WEFT_TRANSPORT_SOURCE

#include <weft/transport/agreement.hpp>
#include <weft/transport/card.hpp>
#include <weft/transport/standstill.hpp>
