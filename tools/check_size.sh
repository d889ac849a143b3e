#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_size.sh BUILD [FILE...] - functions of at most 70 lines, nesting 3, 6 parameters.
#
# BUILD is a clang build (its compile_commands.json is read). A function that must be longer
# carries a NOLINTNEXTLINE(readability-function-size) comment with its reason.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:?usage: check_size.sh BUILD [FILE...]}" && pwd)
shift
cd "$root"
[ $# -gt 0 ] || mapfile -t files < <(find src -name '*.c' | sort)
[ $# -eq 0 ] || files=("$@")
# Only files that the build knows; a directory without meson.build is not built yet.
known=()
for file in "${files[@]}"; do
    grep -q "${file#"$root"/}" "$build/compile_commands.json" && known+=("$file")
done
[ ${#known[@]} -gt 0 ] || { echo "$build compiles none of these files"; exit 1; }
printf '%s\0' "${known[@]}" |
    xargs -0 -n 8 -P "$(nproc)" clang-tidy-14 -p "$build" --quiet \
        --config-file="$root/.clang-tidy" 2>/dev/null
