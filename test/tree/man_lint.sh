#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# man_lint.sh PAGE... - mandoc finds nothing to warn about.
exec mandoc -T lint -W warning "$@"
