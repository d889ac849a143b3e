#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# format.sh [--check] [ROOT] - clang-format-14 has the last word on layout.
#
# Without --check the files are rewritten in place. Planted sins keep their shape.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
mode=(-i)
[ "${1:-}" = --check ] && { mode=(--dry-run -Werror); shift; }
cd "${1:-$here}"
mapfile -t files < <(find src test bench examples include -name '*.[ch]' \
    -not -path 'test/planted/*' 2>/dev/null | sort)
[ ${#files[@]} -gt 0 ] || { echo "$PWD: no C file found"; exit 1; }
printf '%s\0' "${files[@]}" |
    xargs -0 -n 32 clang-format-14 --style="file:$here/.clang-format" "${mode[@]}"
