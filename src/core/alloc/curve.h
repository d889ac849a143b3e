/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - what the linear relaxation sees of one row: the corners of its upper hull.
 *
 * Private to alloc/. Devices count from the row's least size, gains (of w) from what that
 * is worth. */
#ifndef CORE_ALLOC_CURVE_H
#define CORE_ALLOC_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/alloc/alloc.h"

struct corner {
    int64_t gain;
    int32_t devices;
};

struct curve {
    int64_t base;   /* w of the least size */
    size_t at;      /* its corners are pool[at .. at + n_corners) */
    int32_t n_pool; /* room for corners there */
    int32_t n_corners;
    int32_t least;   /* smallest size; -1: there is none */
    int32_t top;     /* the largest size is least + top */
    int32_t divisor; /* of all useful steps; 0: there are none */
    int32_t taken;   /* corners up to the solution of the relaxation */
    int32_t high;    /* while that is looked for: it takes no more than this */
    bool is_stale;   /* the row changed since the corners were computed */
    bool is_joined;  /* the search has looked at this row */
};

/* Sets least and top, and marks the curve as stale; O(1). */
void curve_begin(struct curve *c, const struct alloc_row *row);

/* Computes base, divisor and the corners within `limit` devices, in room for n_options of
 * them. Returns how many they are. Begun before. */
int32_t curve_trace(struct curve *c, const struct alloc_row *row, int64_t factor,
                    int32_t limit, struct corner *corners);

/* The greatest common divisor; 0 is divided by everything. */
int32_t curve_divisor(int32_t a, int32_t b);

#endif
