/* SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

#include <string.h>

#include "base/err.h"
