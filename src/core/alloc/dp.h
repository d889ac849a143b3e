/* SPDX-License-Identifier: Apache-2.0 */
/* dp.h - the recurrence of the seed paper over a reduced problem. Private to alloc/. */
#ifndef CORE_ALLOC_DP_H
#define CORE_ALLOC_DP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/alloc/reduced.h"

/* The budget. Cells are (row, devices) pairs, two bytes each; work is one comparison in
 * one cell. At about a nanosecond apiece a solve stays below a third of a second. */
#define DP_CELLS_MAX ((int64_t)1 << 25)
#define DP_WORK_MAX  ((int64_t)1 << 28)

/* What a search will take. */
struct dp_size {
    int64_t cells;
    int64_t work;
    int32_t room; /* no more devices than this can be put to use */
};

struct dp_size dp_measure(const struct reduced *r);

struct dp_work {
    int64_t *best;    /* room + 1 */
    uint16_t *choice; /* cells */
    int64_t *cell;    /* n_rows: where the choices of a row begin */
    int32_t *low;     /* n_rows: the window of a row */
    int32_t *high;
};

/* The best step of each row (index in steps[]; -1: its least size). Returns the gain. */
int64_t dp_solve(const struct reduced *r, const struct dp_size *size,
                 struct dp_work *work, int32_t *step);

#endif
