#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh BUILD NAME_fuzz SECONDS - lets one fuzz target run, from its seeds.
#
# Seeds stand in test/fuzz/corpus/NAME and are never written; what is found on the way goes
# to BUILD/corpus/NAME, a crashing input to BUILD/crash/. Turn that into a seed: from then
# on `make check` replays it.
set -euo pipefail
build=$(cd "${1:?usage: fuzz.sh BUILD NAME_fuzz SECONDS}" && pwd)
target=${2:?}
seconds=${3:?}
name=${target%_fuzz}
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$build/corpus/$name" "$build/crash"
seeds=()
[ -d "$root/test/fuzz/corpus/$name" ] && seeds=("$root/test/fuzz/corpus/$name")
# libFuzzer's own status for a crash is 77, which says "skipped" everywhere else.
exec "$build/test/fuzz/$target" -error_exitcode=1 -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$build/crash/$name-" \
    "$build/corpus/$name" "${seeds[@]}"
