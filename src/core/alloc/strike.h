/* SPDX-License-Identifier: Apache-2.0 */
/* strike.h - at a price for devices, what no better solution holds. Private to alloc/. */
#ifndef CORE_ALLOC_STRIKE_H
#define CORE_ALLOC_STRIKE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/alloc/reduced.h"

struct strike_price {
    int64_t gain; /* gain / devices for each device; devices > 0 */
    int32_t devices;
    int64_t slack; /* slack / devices: how far a solution lies below the bound */
};

/* Strikes out what cannot be part of a solution better than the one of the slack, and
 * gives each row the least of what is left to it. *r is then a smaller problem whose
 * solutions include all better ones. False: there are none. */
bool strike_out(struct reduced *r, const struct strike_price *price);

#endif
