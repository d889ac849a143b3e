#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# setup_test.sh - script/setup touches nothing on a system it does not know. Prints TAP.
set -uo pipefail
cd "$ELASTANE_SOURCE" || exit 1
other=$(mktemp)
trap 'rm -f "$other"' EXIT
bad=0
echo "1..4"

printf 'ID=fedora\nVERSION_ID=39\n' >"$other"
said=$(ELASTANE_OS_RELEASE=$other script/setup 2>&1)
status=$?
[ $status -eq 3 ] || { printf 'not '; bad=1; }
echo "ok 1 - another system ends with status 3"
grep -q 'this is not Debian 12' <<<"$said" || { printf 'not '; bad=1; }
echo "ok 2 - it says why"
grep -qx '    libuv1-dev' <<<"$said" || { printf 'not '; bad=1; }
echo "ok 3 - it prints the packages"
script/setup --nonsense >/dev/null 2>&1
[ $? -eq 2 ] || { printf 'not '; bad=1; }
echo "ok 4 - an unknown option is refused"
exit $bad
