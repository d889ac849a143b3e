# SPDX-License-Identifier: Apache-2.0
#ELASTANE --gpus 2
echo hello
