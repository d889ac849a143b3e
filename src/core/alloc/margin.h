/* SPDX-License-Identifier: Apache-2.0 */
/* margin.h - what a few devices more or less would be worth to each job of a solution.
 *
 * Sizes have gaps, so "one more" is the next size of the row, and one less the one before
 * it (0 where it may wait). Each is given with what the row itself would gain or lose,
 * and with what its devices are worth to the others at the price of the linear
 * relaxation: an estimate, and at once for all rows. What exactly all together would gain
 * or lose is alloc_memo_what_if() minus the objective, at one re-plan each. */
#ifndef CORE_ALLOC_MARGIN_H
#define CORE_ALLOC_MARGIN_H

#include <stdint.h>

#include "core/alloc/alloc.h"

struct alloc_margin {
    int32_t more_devices; /* to the next size; 0: there is none */
    int64_t more_value;   /* what the row gains by it, may be negative */
    int64_t more_price;   /* what they are worth to the others, in units of value */
    int32_t less_devices; /* to the size before; 0: there is none */
    int64_t less_value;   /* what the row loses by it */
    int64_t less_price;
};

/* One for each row of the problem, solved with these sizes and this result. */
void alloc_margins(const struct alloc_problem *p, const int32_t *sizes,
                   const struct alloc_result *result, struct alloc_margin *ret);

#endif
