#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_public.sh LIBRARY - the shared library shows elastane_* and nothing else (STYLE 2).
#
# Version nodes (absolute symbols ELASTANE_*) are allowed.
set -euo pipefail
export LC_ALL=C
library=${1:?usage: check_public.sh LIBRARY}
symbols=$(nm -P -D --defined-only "$library" | awk '{print $2, $1}')
alien=$(awk '$2 !~ /^elastane_[a-z]/ && !($1 == "A" && $2 ~ /^ELASTANE_/) {print $2}' \
    <<<"$symbols")
[ -z "$alien" ] || { echo "$library shows more than elastane_*:" $alien; exit 1; }
grep -q 'elastane_' <<<"$symbols" || { echo "$library shows no elastane_* at all"; exit 1; }
