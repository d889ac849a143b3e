#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
echo "story 0123456789abcdef"
