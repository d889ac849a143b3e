/* SPDX-License-Identifier: Apache-2.0 */
/* reduced.h - the allocation problem after everybody has his least size.
 *
 * Once the least sizes are given out (which fails or succeeds before any search begins)
 * what remains is: `room` devices, and for each row a list of steps, of which it may take
 * one or none. A step says how many devices more than the least, and what that gains.
 * So no part of the search knows infeasibility, and no sentinel enters a sum.
 *
 * Private to alloc/. All memory is borrowed from the solver's scratch. */
#ifndef CORE_ALLOC_REDUCED_H
#define CORE_ALLOC_REDUCED_H

#include <stddef.h>
#include <stdint.h>

#include "core/alloc/alloc.h"

struct step {
    int64_t gain;    /* of w over the least size; > 0 */
    int32_t devices; /* more than the least size; >= 1 */
    int32_t size;    /* what the row then holds */
};

/* The steps of row j are steps[first[j] .. end[j]): devices and gain both strictly
 * ascending, none larger than room. */
struct reduced {
    int32_t n_rows;
    int32_t room;
    int64_t base;   /* sum of w with everybody at his least size */
    int32_t *least; /* that size */
    int32_t *first;
    int32_t *end;
    struct step *steps;
};

/* The factor T of the weights: the least power of two above the number of rows. */
int64_t reduced_factor(int32_t n_rows);

/* The least size of a row; -1 when there is none. */
int32_t reduced_least(const struct alloc_row *row);

/* How many steps the problem can have at most; checks the limits of the input. */
size_t reduced_count(const struct alloc_problem *p);

/* Fills r, whose arrays have room for n_rows rows and reduced_count() steps. Returns 0
 * or E_INFEASIBLE. */
int reduced_build(struct reduced *r, const struct alloc_problem *p);

/* The weight of giving row `size` devices: v*T + [size = held]. */
static inline int64_t reduced_weight(const struct alloc_row *row, int64_t factor,
                                     int32_t size, int64_t value)
{
    return value * factor + (size == row->held);
}

#endif
