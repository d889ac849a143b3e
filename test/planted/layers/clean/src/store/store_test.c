/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <cmocka.h>

#include "support/world.h"
