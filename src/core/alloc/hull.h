/* SPDX-License-Identifier: Apache-2.0 */
/* hull.h - best marginal gain first: a good solution, and a bound that proves how good.
 *
 * Private to alloc/. */
#ifndef CORE_ALLOC_HULL_H
#define CORE_ALLOC_HULL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/alloc/reduced.h"

struct hull_edge {
    int64_t gain;
    int32_t devices;
    int32_t row;
};

/* Memory for the search, one entry for each row (for each step: corner). */
struct hull_work {
    int32_t *corner;        /* the steps of row j that are corners of its hull ... */
    int32_t *n_corners;     /* ... how many they are, from corner[first[j]] on ... */
    int32_t *reached;       /* ... and how many of them were taken */
    struct hull_edge *heap; /* next edge of each row */
};

/* In a solution (here and in dp.h) step[j] is the index in steps[] that row j takes; -1:
 * its least size. */
struct hull_result {
    int64_t gain;  /* of the solution in step[] */
    int64_t bound; /* no solution gains more */

    /* The multiplier behind the bound: price_gain / price_devices for each device.
     * slack / price_devices is how far the gain lies below the unrounded bound. Set if
     * gain < bound. */
    int64_t price_gain;
    int32_t price_devices;
    int64_t slack;
};

void hull_solve(const struct reduced *r, struct hull_work *work, int32_t *step,
                struct hull_result *ret);

/* Strikes out what cannot be part of a solution better than `found` (gain < bound), and
 * gives each row the least of what is left to it. *r is then a smaller problem whose
 * solutions include all better ones. False: there are none. */
bool hull_strike(struct reduced *r, const struct hull_result *found);

#endif
