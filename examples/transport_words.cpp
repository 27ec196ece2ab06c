// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What ranks tell each other and the user in words, for all other source files.
#include <weft/transport/source.hpp>
