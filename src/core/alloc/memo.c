/* SPDX-License-Identifier: Apache-2.0 */
/* memo.c - re-planning after one event.
 *
 * A change only marks: the row's curve is stale, and the price of the last solve keeps
 * its place in the order of rows. The next solve traces stale rows anew, gives each what
 * that price says, and from there a few edges more or less lead to the relaxation of the
 * new problem (relax.c says why there is only one). The search from there is the same as
 * after a cold start, because it sees the same.
 *
 * What one solve after one event costs: the row itself, and some passes over all rows'
 * curves (not their options). It costs a cold solve when the number of rows passes a
 * power of two, which changes T and with it all weights. */
#include "core/alloc/memo.h"

#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "core/alloc/solver.h"

struct alloc_memo {
    struct solver solver;
    struct alloc_row *rows;
    size_t cap_rows;
};

struct alloc_memo *alloc_memo_new(void)
{
    return mem_new(1, sizeof(struct alloc_memo));
}

void alloc_memo_free(struct alloc_memo *m)
{
    if (!m)
        return;
    mem_free(m->rows);
    solver_release(&m->solver);
    mem_free(m);
}

int alloc_memo_insert(struct alloc_memo *m, int32_t at, const struct alloc_row *row)
{
    struct solver *s = &m->solver;
    size_t behind, n = (size_t)s->n_rows + 1;
    void *rows = m->rows, *curves = s->curves;
    int rc;

    ASSERT(at >= 0 && at <= s->n_rows);
    if (s->n_rows == JOBS_MAX)
        return E_LIMIT;
    rc = mem_reserve(&rows, &m->cap_rows, n, sizeof *m->rows);
    m->rows = rows;
    s->rows = rows;
    if (rc == 0)
        rc = mem_reserve(&curves, &s->cap_curves, n, sizeof *s->curves);
    s->curves = curves;
    if (rc < 0)
        return rc;
    behind = (size_t)(s->n_rows - at);
    memmove(&m->rows[at + 1], &m->rows[at], behind * sizeof *m->rows);
    memmove(&s->curves[at + 1], &s->curves[at], behind * sizeof *s->curves);
    m->rows[at] = *row;
    s->curves[at] = (struct curve){0};
    curve_begin(&s->curves[at], row);
    s->n_rows++;
    if (at <= s->price.row)
        s->price.row++;
    return 0;
}

void alloc_memo_replace(struct alloc_memo *m, int32_t at, const struct alloc_row *row)
{
    ASSERT(at >= 0 && at < m->solver.n_rows);
    m->rows[at] = *row;
    curve_begin(&m->solver.curves[at], row);
}

void alloc_memo_remove(struct alloc_memo *m, int32_t at)
{
    struct solver *s = &m->solver;
    size_t behind;

    ASSERT(at >= 0 && at < s->n_rows);
    pool_give(&s->pool, s->curves[at].at, s->curves[at].n_pool);
    behind = (size_t)(s->n_rows - at - 1);
    memmove(&m->rows[at], &m->rows[at + 1], behind * sizeof *m->rows);
    memmove(&s->curves[at], &s->curves[at + 1], behind * sizeof *s->curves);
    s->n_rows--;
    if (at < s->price.row)
        s->price.row--;
}

void alloc_memo_set_devices(struct alloc_memo *m, int32_t devices)
{
    ASSERT(devices >= 0 && devices <= DEVICES_MAX);
    m->solver.devices = devices;
}

struct alloc_problem alloc_memo_problem(const struct alloc_memo *m)
{
    return (struct alloc_problem){m->rows, m->solver.n_rows, m->solver.devices};
}

int alloc_memo_solve(struct alloc_memo *m, int32_t *ret_sizes, struct alloc_result *ret)
{
    struct solver *s = &m->solver;
    int rc;

    if (!solver_is_feasible(s))
        return E_INFEASIBLE;
    rc = solver_run(s, SOLVER_WARM, ret);
    if (rc < 0)
        return rc;
    if (s->n_rows > 0)
        memcpy(ret_sizes, s->sizes, (size_t)s->n_rows * sizeof *s->sizes);
    return 0;
}

/* The row with nothing but this size; false when it is not one of its own. */
static bool hold_to(const struct alloc_row *row, int32_t size, struct alloc_row *ret)
{
    *ret = *row;
    ret->n_options = 0;
    if (size == 0)
        return row->may_wait;
    ret->may_wait = false;
    for (int32_t i = 0; i < row->n_options; i++)
        if (row->options[i].size == size) {
            ret->options = &row->options[i];
            ret->n_options = 1;
            return true;
        }
    return false;
}

int alloc_memo_what_if(struct alloc_memo *m, int32_t at, int32_t size,
                       struct alloc_result *ret)
{
    struct alloc_row row, only;
    int rc = E_INFEASIBLE;

    ASSERT(at >= 0 && at < m->solver.n_rows);
    row = m->rows[at];
    if (!hold_to(&row, size, &only))
        return E_NOTFOUND;
    alloc_memo_replace(m, at, &only);
    if (solver_is_feasible(&m->solver))
        rc = solver_run(&m->solver, SOLVER_WARM, ret);
    alloc_memo_replace(m, at, &row);
    return rc;
}
