// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// What ranks compare at the start and say when they stand still is text, and text takes longer to compile than a
/// trainer does. A program of many source files may define WEFT_EXTERN_TRANSPORT for all of them and let one more,
/// which includes <weft/transport/source.hpp>, compile these functions once. Nothing else changes.

#if defined(WEFT_EXTERN_TRANSPORT) || defined(WEFT_TRANSPORT_SOURCE)
#define WEFT_TRANSPORT_INLINE
#else
#define WEFT_TRANSPORT_INLINE inline
#endif

/// The bodies of what is compiled once are to be seen.
#if !defined(WEFT_EXTERN_TRANSPORT) || defined(WEFT_TRANSPORT_SOURCE)
#define WEFT_DEFINES_TRANSPORT
#endif
