#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# digest.sh BUILD - one digest for every story: of the text and of the state at its end;
# and one for each shape of allocation problem, of the answers.
#
# make check-all runs it on gcc and clang builds, -O0 and -O2, and wants one answer (STYLE 7).
set -euo pipefail
"${1:?usage: digest.sh BUILD}"/src/core/alloc_digest
tell=$(realpath "$1")/test/golden/tell
cd "$(dirname "$0")/golden"
for story in *.scn; do
    text=$("$tell" --table --digest "$story")
    printf '%s %s\n' "${story%.scn}" "$(sha256sum <<<"$text" | cut -c1-16)"
done
