#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tools/format.sh [--check]: formats every C++ file of the project, or with --check says which are not formatted.
# clang-format 14 decides, which is Debian 12's: other versions lay a few lines out differently. Exit status 75: it is
# not here.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=
for candidate in clang-format-14 clang-format; do
  if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q 'version 14\.'; then
    tool=$candidate
    break
  fi
done
if [ -z "$tool" ]; then
  echo "tools/format.sh: clang-format 14 is needed; install clang-format-14 (in Debian 12: clang-format)" >&2
  exit 75
fi

mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.hpp' '*.cpp')
if [ "${1:-}" = --check ]; then
  wrong=0
  for file in "${files[@]}"; do
    if ! "$tool" "$file" | cmp -s - "$file"; then
      echo "not formatted: $file"
      wrong=$((wrong + 1))
    fi
  done
  echo "${#files[@]} files looked at, $wrong not formatted"
  [ "$wrong" -eq 0 ] || { echo "run tools/format.sh"; exit 1; }
else
  "$tool" -i "${files[@]}"
  echo "${#files[@]} files formatted"
fi
