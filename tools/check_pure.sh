#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_pure.sh ALLOWED ARCHIVE... - is the last archive pure?
#
# The last archive is on trial; those before it are the layers that it may use. It may want
# no symbol but theirs, its own, and those of the list ALLOWED (one a line, # comments).
# And it may have no variable that a program could change: "no mutable globals" (STYLE 10).
set -euo pipefail
export LC_ALL=C
[ $# -ge 2 ] || { sed -n '3,8p' "$0" >&2; exit 2; }
allowed=$1
shift
own=$(mktemp)
want=$(mktemp)
trap 'rm -f "$own" "$want"' EXIT
for trial; do :; done
bad=0

{
    sed 's/#.*//' "$allowed" | awk 'NF {print $1}'
    nm -P -g --defined-only "$@" | awk 'NF > 2 {print $1}'
} | sort -u >"$own"
nm -P -u "$trial" | awk '$2 == "U" || $2 == "w" {print $1}' | sort -u >"$want"
alien=$(comm -23 "$want" "$own")
if [ -n "$alien" ]; then
    echo "$trial is not pure: it wants" $alien
    nm -A -u "$trial" | grep -wF "$alien" | sed 's/^/    /'
    bad=1
fi

# Writable data: .data, .bss and common, but not .data.rel.ro, which is const with pointers.
mutable=$(objdump -t "$trial" | awk '
    NF > 3 && $(NF - 2) ~ /^(\.t?data|\.t?bss|\*COM\*)/ && $(NF - 2) !~ /^\.data\.rel\.ro/ &&
    / [lg] +O /  { print $NF }')
if [ -n "$mutable" ]; then
    echo "$trial is not pure: it has mutable globals:" $mutable
    bad=1
fi
exit $bad
