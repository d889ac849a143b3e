/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.h - who gets how many devices: a multiple-choice knapsack, solved exactly.
 *
 * Every row takes one of its options, or size 0 where it may wait; the sizes sum to at
 * most `devices`. Maximised is the sum of w = v*T + [size = held], T the least power of
 * two above the number of rows: most value first, then most jobs left unchanged
 * (DESIGN 4.4). The answer depends on the rows in the order given and on `devices` alone.
 */
#ifndef CORE_ALLOC_ALLOC_H
#define CORE_ALLOC_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/limits.h"

struct alloc_option {
    int32_t size;  /* >= 1, strictly ascending within a row */
    int64_t value; /* |value| <= VALUE_MAX */
};

struct alloc_row {
    const struct alloc_option *options;
    int32_t n_options;
    int32_t held;  /* size held now; 0: none. "Unchanged" is size == held */
    bool may_wait; /* size 0 is allowed, with value 0 */
};

struct alloc_problem {
    const struct alloc_row *rows;
    int32_t n_rows;
    int32_t devices;
};

enum alloc_proof { ALLOC_PROOF_NONE, ALLOC_PROOF_SEARCH, ALLOC_PROOF_LP };

struct alloc_result {
    int64_t value;     /* sum of v over the rows */
    int64_t objective; /* sum of w */
    int64_t bound;     /* no solution has a larger sum of w */
    int32_t unchanged; /* rows that keep what they hold */
    int32_t used;      /* devices given out */
    bool is_certified; /* objective == bound */
    enum alloc_proof proof;

    /* What a device is worth in the linear relaxation: price_gain / price_devices units
     * of w; 0 / 1 where devices are not scarce. Proof LP rests on it. */
    int64_t price_gain;
    int32_t price_devices;
};

/* Memory that is kept between calls, so that the steady state allocates nothing. */
struct alloc_scratch {
    struct solver *solver; /* private; NULL before the first solve */
};

void alloc_scratch_init(struct alloc_scratch *s);
void alloc_scratch_release(struct alloc_scratch *s);

/* Solves. ret_sizes has room for n_rows. Returns 0; E_INFEASIBLE when the rows that may
 * not wait do not fit together (or one of them has no option); E_NOMEM. On failure the
 * results are untouched. */
int alloc_solve(const struct alloc_problem *p, struct alloc_scratch *s,
                int32_t *ret_sizes, struct alloc_result *ret);

/* The paper's admission question: do the smallest options of all rows that may not wait
 * fit together? Equivalent to alloc_solve not being infeasible; O(rows). */
bool alloc_is_feasible(const struct alloc_problem *p);

/* How many devices are missing for that; 0 or less: they fit. INT64_MAX when a row that
 * may not wait has no option. */
int64_t alloc_shortage(const struct alloc_problem *p);

/* The proof of ALLOC_PROOF_LP, without the solver: does one pass over the rows with this
 * result's price confirm that nothing is worth more than its objective? Each row takes
 * its best option at that price; what those net, and the price of all devices, is a bound
 * for whatever else is given out. */
bool alloc_check_lp(const struct alloc_problem *p, const struct alloc_result *result);

#endif
