#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_digests.sh SCRIPT BUILD... - the same decisions from every build, and twice (STYLE 7).
#
# SCRIPT BUILD prints digests of decisions, a name and a digest a line. All builds must give
# one text, and the first build must give it again.
set -euo pipefail
script=${1:?usage: check_digests.sh SCRIPT BUILD...}
shift
text=$("$script" "$1") || { echo "$script $1 failed"; printf '%s\n' "$text"; exit 1; }
[ -n "$text" ] || { echo "$script $1 printed no digest"; exit 1; }
bad=0
for build in "$@" "$1"; do
    other=$("$script" "$build") || { echo "$script $build failed"; bad=1; }
    [ "$other" = "$text" ] && continue
    echo "digests differ: $1 (<) and $build (>)"
    diff <(echo "$text") <(echo "$other") || true
    bad=1
done
exit $bad
