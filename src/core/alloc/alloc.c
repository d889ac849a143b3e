/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.c - the way from rows to sizes.
 *
 *     reduced   least sizes given out, the rest as steps; infeasible ends here
 *     hull      best marginal gain first, and a bound; if they meet, that proves it
 *     strike    what the gap between the two rules out is struck from the problem
 *     dp        exact search of what is left; skipped beyond its budget
 *
 * The answer of dp replaces that of hull only if it is better; either way it is optimal
 * then. Skipped, hull's answer stands with its bound, and is not certified.
 *
 * All memory is one block of the scratch, cut up by map_memory(). It grows and is never
 * given back before alloc_scratch_release(). */
#include "core/alloc/alloc.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "core/alloc/dp.h"
#include "core/alloc/hull.h"
#include "core/alloc/reduced.h"

struct solver {
    const struct alloc_problem *problem;
    struct reduced reduced;
    struct hull_work hull;
    struct dp_work dp;
    int32_t *step;
    int32_t *sizes;
};

void alloc_scratch_init(struct alloc_scratch *s)
{
    *s = (struct alloc_scratch){0};
}

void alloc_scratch_release(struct alloc_scratch *s)
{
    mem_free(s->memory);
    alloc_scratch_init(s);
}

bool alloc_is_feasible(const struct alloc_problem *p)
{
    int64_t sum = 0;

    for (int32_t j = 0; j < p->n_rows; j++) {
        int32_t least = reduced_least(&p->rows[j]);

        if (least < 0)
            return false;
        sum += least;
    }
    return sum <= p->devices;
}

/* Cuts n items of that size off the front, on a boundary of 8 bytes. With memory NULL it
 * only counts. */
static void *cut(void *memory, size_t *used, size_t n, size_t item_size)
{
    size_t at = *used;

    *used += (n * item_size + 7) / 8 * 8;
    return memory ? (char *)memory + at : NULL;
}

/* Points the solver's arrays into memory; returns the bytes they take. n_steps is at most
 * 2^28 and the cells are within DP_CELLS_MAX, so the sum fits. */
static size_t map_memory(struct solver *s, void *memory, size_t n_steps,
                         const struct dp_size *dp)
{
    size_t n = (size_t)s->problem->n_rows;
    size_t used = 0;

    s->reduced.steps = cut(memory, &used, n_steps, sizeof *s->reduced.steps);
    s->reduced.least = cut(memory, &used, n, sizeof *s->reduced.least);
    s->reduced.first = cut(memory, &used, n, sizeof *s->reduced.first);
    s->reduced.end = cut(memory, &used, n, sizeof *s->reduced.end);
    s->hull.corner = cut(memory, &used, n_steps, sizeof *s->hull.corner);
    s->hull.n_corners = cut(memory, &used, n, sizeof *s->hull.n_corners);
    s->hull.reached = cut(memory, &used, n, sizeof *s->hull.reached);
    s->hull.heap = cut(memory, &used, n, sizeof *s->hull.heap);
    s->step = cut(memory, &used, n, sizeof *s->step);
    s->sizes = cut(memory, &used, n, sizeof *s->sizes);
    if (!dp)
        return used;
    s->dp.low = cut(memory, &used, n, sizeof *s->dp.low);
    s->dp.high = cut(memory, &used, n, sizeof *s->dp.high);
    s->dp.cell = cut(memory, &used, n, sizeof *s->dp.cell);
    s->dp.best = cut(memory, &used, (size_t)dp->room + 1, sizeof *s->dp.best);
    s->dp.choice = cut(memory, &used, (size_t)dp->cells, sizeof *s->dp.choice);
    return used;
}

/* Makes room in the scratch, keeps what is in it, and points the solver there. */
static int reserve(struct solver *s, struct alloc_scratch *scratch, size_t n_steps,
                   const struct dp_size *dp)
{
    size_t want = map_memory(s, NULL, n_steps, dp);

    if (want > scratch->cap || !scratch->memory) {
        size_t cap = want + want / 4; /* problems grow little by little */
        void *memory = mem_resize(scratch->memory, cap, 1);

        if (!memory)
            return E_NOMEM;
        scratch->memory = memory;
        scratch->cap = cap;
    }
    (void)map_memory(s, scratch->memory, n_steps, dp);
    return 0;
}

static void keep_sizes(struct solver *s)
{
    for (int32_t j = 0; j < s->reduced.n_rows; j++)
        s->sizes[j] =
            s->step[j] >= 0 ? s->reduced.steps[s->step[j]].size : s->reduced.least[j];
}

/* Looks for a solution better than hull's. Returns 0 when the better one of the two (its
 * objective in *objective, its sizes in s->sizes) is optimal; E_LIMIT when the search
 * would pass its budget; E_NOMEM. */
static int improve(struct solver *s, struct alloc_scratch *scratch, size_t n_steps,
                   const struct hull_result *hull, int64_t *objective)
{
    struct dp_size size;
    int64_t found;

    if (!hull_strike(&s->reduced, hull))
        return 0;
    size = dp_measure(&s->reduced);
    if (size.cells > DP_CELLS_MAX || size.work > DP_WORK_MAX)
        return E_LIMIT;
    if (reserve(s, scratch, n_steps, &size) < 0)
        return E_NOMEM;
    found = s->reduced.base + dp_solve(&s->reduced, &size, &s->dp, s->step);
    if (found > *objective) {
        *objective = found;
        keep_sizes(s);
    }
    return 0;
}

/* Solves the reduced problem into s->sizes, and says what was proved. */
static int search(struct solver *s, struct alloc_scratch *scratch, size_t n_steps,
                  struct alloc_result *ret)
{
    struct hull_result hull;
    int rc;

    hull_solve(&s->reduced, &s->hull, s->step, &hull);
    keep_sizes(s);
    ret->objective = s->reduced.base + hull.gain;
    ret->bound = s->reduced.base + hull.bound;
    if (hull.gain == hull.bound) {
        ret->proof = ALLOC_PROOF_LP;
    } else {
        rc = improve(s, scratch, n_steps, &hull, &ret->objective);
        if (rc == E_NOMEM)
            return rc;
        ASSERT(ret->objective <= ret->bound);
        if (rc == 0) {
            ret->proof = ALLOC_PROOF_SEARCH;
            ret->bound = ret->objective;
        }
    }
    ret->is_certified = ret->objective == ret->bound;
    return 0;
}

static int64_t value_of(const struct alloc_row *row, int32_t size)
{
    int32_t low = 0, high = row->n_options;

    if (size == 0)
        return 0;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;

        if (row->options[middle].size < size)
            low = middle + 1;
        else
            high = middle;
    }
    ASSERT(low < row->n_options);
    ASSERT(row->options[low].size == size);
    return row->options[low].value;
}

/* Adds up what the sizes are worth, from the rows as they were given. */
static void add_up(const struct solver *s, struct alloc_result *ret)
{
    const struct alloc_problem *p = s->problem;
    int64_t used = 0;

    for (int32_t j = 0; j < p->n_rows; j++) {
        ret->value += value_of(&p->rows[j], s->sizes[j]);
        ret->unchanged += s->sizes[j] == p->rows[j].held;
        used += s->sizes[j];
    }
    ASSERT(used <= p->devices);
    ret->used = (int32_t)used;
    ASSERT(ret->objective == ret->value * reduced_factor(p->n_rows) + ret->unchanged);
}

int alloc_solve(const struct alloc_problem *p, struct alloc_scratch *s,
                int32_t *ret_sizes, struct alloc_result *ret)
{
    struct solver solver = {.problem = p};
    struct alloc_result result = {0};
    size_t n_steps = reduced_count(p);
    int rc;

    if (!alloc_is_feasible(p))
        return E_INFEASIBLE;
    rc = reserve(&solver, s, n_steps, NULL);
    if (rc < 0)
        return rc;
    rc = reduced_build(&solver.reduced, p);
    ASSERT(rc == 0);
    rc = search(&solver, s, n_steps, &result);
    if (rc < 0)
        return rc;
    add_up(&solver, &result);
    for (int32_t j = 0; j < p->n_rows; j++)
        ret_sizes[j] = solver.sizes[j];
    *ret = result;
    return 0;
}
