/* SPDX-License-Identifier: Apache-2.0 */
/* solver.c - from rows to a result, by way of relax.c and search.c.
 *
 * What a curve (curve.h) shows depends on its row, on T, and on the limit beyond which
 * steps are left out. The limit is the least power of two that is not below the room, and
 * not the room itself, so that a change of a few devices leaves all curves as they are.
 * A warm solve traces the rows that changed and, when the limit passed a power of two,
 * those that have steps between the two; when T changed, all.
 *
 * Where all useful steps are multiples of some number (jobs made of replicas of eight
 * devices), the rest of the room cannot be used and is dropped, so that no bound counts
 * on it. The proof of alloc_check_lp() follows the same rule.
 *
 * Sums: base and gains are sums of one weight or gain per row (reduced.c). */
#include "core/alloc/solver.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "core/alloc/reduced.h"

/* Makes room for want items; NULL, and nothing lost, when there is no memory. */
static void *grow(void *array, size_t *cap, size_t want, size_t item_size)
{
    return mem_reserve(&array, cap, want > 0 ? want : 1, item_size) < 0 ? NULL : array;
}

static int32_t pool_class(int32_t n)
{
    int32_t class = 0;

    while (n > 1 << class)
        class ++;
    ASSERT(class < POOL_CLASSES);
    return class;
}

int pool_take(struct corner_pool *pool, int32_t n, size_t *ret_at, int32_t *ret_n)
{
    int32_t class = pool_class(n);
    size_t size = (size_t)1 << class;
    size_t at = pool->unused[class];

    if (at > 0) {
        *ret_at = at - 1;
        pool->unused[class] = (size_t)pool->corners[at - 1].gain;
    } else {
        void *corners =
            grow(pool->corners, &pool->cap, pool->used + size, sizeof *pool->corners);

        if (!corners)
            return E_NOMEM;
        pool->corners = corners;
        *ret_at = pool->used;
        pool->used += size;
    }
    *ret_n = (int32_t)size;
    return 0;
}

void pool_give(struct corner_pool *pool, size_t at, int32_t n)
{
    int32_t class = pool_class(n);

    if (n == 0)
        return;
    pool->corners[at].gain = (int64_t)pool->unused[class];
    pool->unused[class] = at + 1;
}

static void pool_clear(struct corner_pool *pool)
{
    pool->used = 0;
    for (int i = 0; i < POOL_CLASSES; i++)
        pool->unused[i] = 0;
}

void solver_release(struct solver *s)
{
    mem_free(s->pool.corners);
    mem_free(s->traced);
    mem_free(s->up.edges);
    mem_free(s->down.edges);
    mem_free(s->active);
    mem_free(s->position);
    mem_free(s->curves);
    mem_free(s->search.now.states);
    mem_free(s->search.next.states);
    mem_free(s->search.spare.states);
    mem_free(s->search.moves);
    mem_free(s->search.nodes);
    mem_free(s->search.mark);
    mem_free(s->sizes);
    mem_free(s->dense);
    *s = (struct solver){0};
}

static int64_t sum_of_least(const struct solver *s)
{
    int64_t sum = 0;

    for (int32_t j = 0; j < s->n_rows; j++) {
        if (s->curves[j].least < 0)
            return INT64_MAX;
        sum += s->curves[j].least;
    }
    return sum;
}

bool solver_is_feasible(const struct solver *s)
{
    return sum_of_least(s) <= s->devices;
}

static int reserve(struct solver *s)
{
    size_t n = (size_t)s->n_rows;
    void *p;

    p = grow(s->up.edges, &s->up.cap, n, sizeof *s->up.edges);
    if (!p)
        return E_NOMEM;
    s->up.edges = p;
    p = grow(s->down.edges, &s->down.cap, n, sizeof *s->down.edges);
    if (!p)
        return E_NOMEM;
    s->down.edges = p;
    p = grow(s->active, &s->cap_active, n, sizeof *s->active);
    if (!p)
        return E_NOMEM;
    s->active = p;
    p = grow(s->position, &s->cap_position, n, sizeof *s->position);
    if (!p)
        return E_NOMEM;
    s->position = p;
    p = grow(s->sizes, &s->cap_sizes, n, sizeof *s->sizes);
    if (!p)
        return E_NOMEM;
    s->sizes = p;
    return 0;
}

/* Traces row j and puts its corners into the pool. */
static int trace(struct solver *s, int32_t j)
{
    struct curve *c = &s->curves[j];
    const struct alloc_row *row = &s->rows[j];
    void *traced =
        grow(s->traced, &s->cap_traced, (size_t)row->n_options, sizeof *s->traced);
    int32_t n;

    if (!traced)
        return E_NOMEM;
    s->traced = traced;
    n = curve_trace(c, row, s->factor, s->limit, s->traced);
    if (n > c->n_pool) {
        size_t at;
        int32_t n_pool;

        if (pool_take(&s->pool, n, &at, &n_pool) < 0) {
            c->n_corners = 0;
            return E_NOMEM;
        }
        pool_give(&s->pool, c->at, c->n_pool);
        c->at = at;
        c->n_pool = n_pool;
    }
    for (int32_t i = 0; i < n; i++)
        s->pool.corners[c->at + (size_t)i] = s->traced[i];
    return 0;
}

static int trace_all(struct solver *s)
{
    pool_clear(&s->pool);
    for (int32_t j = 0; j < s->n_rows; j++)
        s->curves[j].n_pool = 0;
    for (int32_t j = 0; j < s->n_rows; j++)
        if (trace(s, j) < 0)
            return E_NOMEM;
    return 0;
}

/* Traces what changed, and takes of it what the price says. */
static int trace_changed(struct solver *s, int32_t old_limit)
{
    int32_t low = i32_min(old_limit, s->limit);

    for (int32_t j = 0; j < s->n_rows; j++) {
        struct curve *c = &s->curves[j];

        if (!c->is_stale && (s->limit == old_limit || c->top <= low))
            continue;
        if (trace(s, j) < 0)
            return E_NOMEM;
        relax_place(s, j);
    }
    return 0;
}

/* Adds up the curves, and drops what of the room nobody can use. */
static void measure(struct solver *s)
{
    int32_t divisor = 0;

    s->base = 0;
    for (int32_t j = 0; j < s->n_rows; j++) {
        struct curve *c = &s->curves[j];

        s->base += c->base;
        c->is_joined = false;
        if (divisor != 1)
            divisor = curve_divisor(c->divisor, divisor);
    }
    if (divisor > 1)
        s->room -= s->room % divisor;
}

/* The relaxation, from the curves as they are; E_NOMEM leaves no curve valid. */
static int relax(struct solver *s, enum solver_start start)
{
    int64_t factor = reduced_factor(s->n_rows);
    int32_t old_limit = s->limit;
    int rc;

    s->room = s->devices - (int32_t)sum_of_least(s);
    for (s->limit = 1; s->limit < s->room;)
        s->limit *= 2;
    if (factor != s->factor)
        start = SOLVER_COLD;
    s->factor = factor;
    rc = start == SOLVER_COLD ? trace_all(s) : trace_changed(s, old_limit);
    if (rc < 0) {
        s->factor = 0;
        return rc;
    }
    measure(s);
    if (start == SOLVER_COLD)
        relax_select(s);
    else
        relax_adjust(s);
    return 0;
}

static void set_sizes(struct solver *s, int32_t node)
{
    for (int32_t j = 0; j < s->n_rows; j++) {
        const struct curve *c = &s->curves[j];

        s->sizes[j] = c->least;
        if (c->taken > 0)
            s->sizes[j] += s->pool.corners[c->at + (size_t)c->taken - 1].devices;
    }
    for (; node >= 0; node = s->search.nodes[node].before)
        s->sizes[s->search.nodes[node].row] = s->search.nodes[node].size;
}

static void fill_result(const struct solver *s, struct alloc_result *ret)
{
    int64_t used = 0, unchanged = 0;

    for (int32_t j = 0; j < s->n_rows; j++) {
        used += s->sizes[j];
        unchanged += s->sizes[j] == s->rows[j].held;
    }
    ASSERT(used <= s->devices);
    ASSERT(ret->objective <= ret->bound);
    ASSERT((ret->objective - unchanged) % s->factor == 0);
    ret->used = (int32_t)used;
    ret->unchanged = (int32_t)unchanged;
    ret->value = (ret->objective - unchanged) / s->factor;
    ret->is_certified = ret->objective == ret->bound;
    ret->price_gain = s->price.gain;
    ret->price_devices = s->price.devices;
}

int solver_run(struct solver *s, enum solver_start start, struct alloc_result *ret)
{
    struct search_result found;
    struct alloc_result result = {0};
    int64_t bound;
    int rc = reserve(s);

    if (rc == 0)
        rc = relax(s, start);
    if (rc < 0)
        return rc;
    bound = s->gain + s->price.gain * (s->room - s->used) / s->price.devices;
    rc = search_run(s, SEARCH_WORK_MAX, &found);
    if (rc < 0)
        return rc;
    set_sizes(s, found.node);
    result.objective = s->gain + found.gain;
    result.bound = s->gain + found.bound;
    if (!found.is_complete) {
        rc = dense_run(s, &result.objective);
        if (rc == E_NOMEM)
            return rc;
        found.is_complete = rc == 0;
    }
    if (result.objective == bound)
        result.proof = ALLOC_PROOF_LP;
    else if (found.is_complete)
        result.proof = ALLOC_PROOF_SEARCH;
    if (result.proof != ALLOC_PROOF_NONE)
        result.bound = result.objective;
    result.objective += s->base;
    result.bound += s->base;
    fill_result(s, &result);
    if (result.is_certified && result.proof == ALLOC_PROOF_NONE)
        result.proof = ALLOC_PROOF_SEARCH; /* no state lived that hoped for more */
    *ret = result;
    return 0;
}
