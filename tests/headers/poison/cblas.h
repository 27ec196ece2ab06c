// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#error "weft: a header of a pure layer includes <cblas.h>; only the layers below plan/ may"
