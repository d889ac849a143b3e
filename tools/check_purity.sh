#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_purity.sh BUILD - check_pure.sh for each pure layer of a plain build (no sanitizers).
#
# Layers come in order, and each may use those before it. `wire` stands in the list because
# engine and sim may call it; it is not on trial itself, since jansson and libyaml are its
# business.
set -euo pipefail
build=${1:?usage: check_purity.sh BUILD}
here=$(cd "$(dirname "$0")" && pwd)
lower=()
tried=0
bad=0

for layer in base core wire trace engine sim; do
    [ -d "$build/src/$layer" ] || continue
    mapfile -t archives < <(find "$build/src/$layer" -name '*.a' | sort)
    if [ -f "$here/pure/$layer.txt" ]; then
        for archive in "${archives[@]}"; do
            # Archives of one layer may use each other.
            others=()
            for other in "${archives[@]}"; do
                [ "$other" = "$archive" ] || others+=("$other")
            done
            "$here/check_pure.sh" "$here/pure/$layer.txt" "${lower[@]}" "${others[@]}" \
                "$archive" || bad=1
            tried=$((tried + 1))
        done
    fi
    lower+=("${archives[@]}")
done
[ $tried -gt 0 ] || { echo "$build: no archive of a pure layer"; exit 1; }
exit $bad
