#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The README's program is examples/01_train, word for word.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
diff <(sed -n '/^```cpp$/,/^```$/p' "$root/README.md" | sed '1d;/^```$/,$d') \
  <(awk '/\/\/ \[readme\]/ { on = !on; next } on' "$root/examples/01_train/main.cpp") &&
  echo "the README shows the program that runs"
