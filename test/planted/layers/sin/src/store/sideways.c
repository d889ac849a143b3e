/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/local.h"
