/* SPDX-License-Identifier: Apache-2.0 */
/* dense.c - when the search ends at its budget: strike out, and leave the rest to dp.c.
 *
 * The search is quick where few states live, the recurrence where there are few devices,
 * whatever the values. Before it, the price strikes what no better solution holds
 * (strike.c). All memory is one block, cut up by map_memory(). */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "core/alloc/dp.h"
#include "core/alloc/reduced.h"
#include "core/alloc/solver.h"
#include "core/alloc/strike.h"

struct dense {
    struct reduced reduced;
    struct dp_work dp;
    int32_t *step;
};

/* Cuts n items of that size off the front, on a boundary of 8 bytes. With memory NULL it
 * only counts. */
static void *cut(void *memory, size_t *used, size_t n, size_t item_size)
{
    size_t at = *used;

    *used += (n * item_size + 7) / 8 * 8;
    return memory ? (char *)memory + at : NULL;
}

/* Points the arrays into memory; returns the bytes they take. n_steps is at most 2^28 and
 * the cells are within DP_CELLS_MAX, so the sum fits. */
static size_t map_memory(struct dense *d, void *memory, size_t n, size_t n_steps,
                         const struct dp_size *dp)
{
    size_t used = 0;

    d->reduced.steps = cut(memory, &used, n_steps, sizeof *d->reduced.steps);
    d->reduced.least = cut(memory, &used, n, sizeof *d->reduced.least);
    d->reduced.first = cut(memory, &used, n, sizeof *d->reduced.first);
    d->reduced.end = cut(memory, &used, n, sizeof *d->reduced.end);
    d->step = cut(memory, &used, n, sizeof *d->step);
    if (!dp)
        return used;
    d->dp.low = cut(memory, &used, n, sizeof *d->dp.low);
    d->dp.high = cut(memory, &used, n, sizeof *d->dp.high);
    d->dp.cell = cut(memory, &used, n, sizeof *d->dp.cell);
    d->dp.best = cut(memory, &used, (size_t)dp->room + 1, sizeof *d->dp.best);
    d->dp.choice = cut(memory, &used, (size_t)dp->cells, sizeof *d->dp.choice);
    return used;
}

/* Makes room in the block, keeps what is in it, and points the arrays there. */
static int reserve(struct dense *d, struct solver *s, size_t n_steps,
                   const struct dp_size *dp)
{
    size_t n = (size_t)s->n_rows;
    size_t want = map_memory(d, NULL, n, n_steps, dp);

    if (want > s->cap_dense || !s->dense) {
        size_t cap = want + want / 4; /* problems grow little by little */
        void *memory = mem_resize(s->dense, cap, 1);

        if (!memory)
            return E_NOMEM;
        s->dense = memory;
        s->cap_dense = cap;
    }
    (void)map_memory(d, s->dense, n, n_steps, dp);
    return 0;
}

static void keep_sizes(const struct dense *d, int32_t *sizes)
{
    const struct reduced *r = &d->reduced;

    for (int32_t j = 0; j < r->n_rows; j++)
        sizes[j] = d->step[j] >= 0 ? r->steps[d->step[j]].size : r->least[j];
}

int dense_run(struct solver *s, int64_t *gain)
{
    const struct alloc_problem problem = {s->rows, s->n_rows, s->devices};
    const int64_t left = s->room - s->used;
    const struct strike_price price = {s->price.gain, s->price.devices,
                                       s->price.gain * left -
                                           s->price.devices * (*gain - s->gain)};
    struct dense d;
    struct dp_size size;
    size_t n_steps = reduced_count(&problem);
    int64_t found, base;

    if (reserve(&d, s, n_steps, NULL) < 0)
        return E_NOMEM;
    if (reduced_build(&d.reduced, &problem) < 0)
        return E_INFEASIBLE;
    base = d.reduced.base;
    if (!strike_out(&d.reduced, &price))
        return 0;
    size = dp_measure(&d.reduced);
    if (size.cells > DP_CELLS_MAX || size.work > DP_WORK_MAX)
        return E_LIMIT;
    if (reserve(&d, s, n_steps, &size) < 0)
        return E_NOMEM;
    found = d.reduced.base - base + dp_solve(&d.reduced, &size, &d.dp, d.step);
    if (found > *gain) {
        *gain = found;
        keep_sizes(&d, s->sizes);
    }
    return 0;
}
