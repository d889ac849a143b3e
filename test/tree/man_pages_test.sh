#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# man_pages_test.sh - each manual page is well formed, gets installed, and refers to pages of
# ours that exist; each program has one. Prints TAP.
set -uo pipefail
cd "$ELASTANE_SOURCE" || exit 1
command -v mandoc >/dev/null || { echo "1..0 # SKIP mandoc is missing"; exit 0; }
shopt -s nullglob
pages=(man/*.[1-8])
[ ${#pages[@]} -gt 0 ] || { echo "1..0 # SKIP no manual page yet"; exit 0; }
mapfile -t programs < <(grep -o "executable('[a-z-]*'" src/prog/meson.build | cut -d"'" -f2)
echo "1..$((3 * ${#pages[@]} + 1))"
n=0
bad=0
# tell STATUS NAME TEXT
tell() {
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        sed 's/^/# /' <<<"$3"
        bad=1
    fi
}
for page in "${pages[@]}"; do
    said=$(test/tree/man_lint.sh "$page" 2>&1)
    tell $? "$page is well formed" "$said"
    grep -qF "'${page#man/}'" man/meson.build
    tell $? "$page is installed" "man/meson.build does not name it"
    missing=$(sed -n 's/^\.Xr \(elastane[a-z-]*\) \([1-8]\).*/man\/\1.\2/p' "$page" | sort -u |
        while read -r other; do [ -f "$other" ] || echo "$other does not exist"; done)
    [ -z "$missing" ]
    tell $? "$page refers to pages that exist" "$missing"
done
missing=$(for program in "${programs[@]}"; do
    ls "man/$program".[18] >/dev/null 2>&1 || echo "$program has no manual page"
done)
[ -z "$missing" ] && [ ${#programs[@]} -gt 0 ]
tell $? "each program has a manual page" "${missing:-src/prog/meson.build names no program}"
exit $bad
