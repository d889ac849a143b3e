#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#ELASTANE --gpus 2 --batch 64 # two of them
#ELASTANE --name "script"
echo hello
#ELASTANE --gpus 4
