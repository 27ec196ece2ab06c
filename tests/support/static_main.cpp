// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The static tests have passed once they are compiled; this program only shows that they were.
int main() { return 0; }
