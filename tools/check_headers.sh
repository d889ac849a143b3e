#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_headers.sh [ROOT] - each header compiles as a file of its own, with gcc and clang.
#
# It is included twice, so that a missing guard shows as well. Flags are those of the build
# (tools/warnings.txt); headers of libraries come in as system headers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "${1:-$here/..}" && pwd)
cd "$root"

libraries=$(pkg-config --cflags-only-I cminpack libcurl 2>/dev/null | sed 's/-I */-isystem /g')
export FLAGS="-std=c17 -Wall -Wextra -Wpedantic -Werror $(tr '\n' ' ' <"$here/warnings.txt")
    -ffp-contract=off -Isrc -Iinclude -Itest $libraries"

one() {
    header=$1
    gnu=-D_GNU_SOURCE
    case $header in
    src/base/* | src/core/*) gnu= ;;
    esac
    rc=0
    for cc in gcc clang-14; do
        command -v $cc >/dev/null || { echo "$cc is missing"; rc=1; continue; }
        # shellcheck disable=SC2086 # FLAGS is a list of words
        printf '#include "%s"\n#include "%s"\nextern int a_header_alone;\n' \
            "$PWD/$header" "$PWD/$header" |
            $cc $FLAGS $gnu -fsyntax-only -x c - 2>&1 ||
            { echo "$header does not stand alone ($cc)"; rc=1; }
    done
    return $rc
}
export -f one

mapfile -t headers < <(find src include -name '*.h' 2>/dev/null | sort)
[ ${#headers[@]} -gt 0 ] || { echo "$root: no header found"; exit 1; }
printf '%s\0' "${headers[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c 'one {}' ||
    exit 1
