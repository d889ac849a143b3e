/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - which devices, once the numbers are known; the rules stand in place.h.
 *
 * Nodes are taken one after the other, each time the best by the rules. What is free on a
 * node is counted once a plan, in the pool; what the job holds is counted along its own
 * span. So a job that stays where it is costs its own devices, and one that takes s new
 * nodes out of n costs O(n * s); s is small because whole nodes are taken. */
#include "core/place.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

struct choice {
    struct place_pool *pool;
    uint32_t job;
    int32_t type;
    int32_t first_node, end_node; /* what it holds lies on these */
    int32_t size;
    int32_t *devices; /* n of them are chosen */
    int32_t n;
};

int place_pool_init(struct place_pool *pool, const struct cluster *c)
{
    *pool = (struct place_pool){.cluster = c};
    pool->free = mem_new((size_t)c->n_devices, 1);
    pool->on_node = mem_new((size_t)c->n_nodes, sizeof *pool->on_node);
    pool->held = mem_new((size_t)c->n_nodes, sizeof *pool->held);
    pool->of_type = mem_new((size_t)c->n_types, sizeof *pool->of_type);
    if (!pool->free || !pool->on_node || !pool->held || !pool->of_type)
        return E_NOMEM;
    for (int32_t i = 0; i < c->n_devices; i++) {
        uint32_t node = c->devices[i].node;

        if (c->devices[i].job != 0 || c->devices[i].state != DEVICE_CLEAN ||
            c->nodes[node].state != NODE_UP)
            continue;
        pool->free[i] = 1;
        pool->on_node[node]++;
        pool->of_type[c->node_types[node]]++;
    }
    return 0;
}

void place_pool_release(struct place_pool *pool)
{
    mem_free(pool->free);
    mem_free(pool->on_node);
    mem_free(pool->held);
    mem_free(pool->of_type);
    *pool = (struct place_pool){0};
}

void place_pool_take(struct place_pool *pool, const int32_t *devices, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        uint32_t node = pool->cluster->devices[devices[i]].node;

        if (!pool->free[devices[i]])
            continue;
        pool->free[devices[i]] = 0;
        pool->on_node[node]--;
        pool->of_type[pool->cluster->node_types[node]]--;
    }
}

static void choose(struct choice *x, int32_t device)
{
    ASSERT(x->n < x->size);
    x->devices[x->n++] = device;
}

/* What the job may go on with: nobody else is on it. */
static bool is_kept(const struct choice *x, int32_t device)
{
    const struct device *d = &x->pool->cluster->devices[device];

    return d->job == x->job && d->state == DEVICE_CLEAN;
}

/* Counts what the job may keep on each node; with `sign` -1 the counts are 0 again. */
static void count_held(struct choice *x, int32_t sign)
{
    const struct cluster *c = x->pool->cluster;
    int32_t first, end;

    cluster_span(c, x->job, &first, &end);
    for (int32_t i = first; i < end; i++)
        if (is_kept(x, i))
            x->pool->held[c->devices[i].node] += sign;
    x->first_node = first < end ? (int32_t)c->devices[first].node : 0;
    x->end_node = first < end ? (int32_t)c->devices[end - 1].node + 1 : 0;
}

/* The node that holds most, of those that hold fewer than the one taken before it, or as
 * many and come after it; -1: none is left. */
static int32_t next_held(const struct choice *x, int32_t before)
{
    const struct place_pool *pool = x->pool;
    int32_t best = -1;

    for (int32_t i = x->first_node; i < x->end_node; i++) {
        if (pool->held[i] == 0 || pool->cluster->nodes[i].state != NODE_UP)
            continue;
        if (before >= 0 && (pool->held[i] > pool->held[before] ||
                            (pool->held[i] == pool->held[before] && i <= before)))
            continue;
        if (best < 0 || pool->held[i] > pool->held[best])
            best = i;
    }
    return best;
}

/* What is held is kept, on the nodes that hold most first. */
static void keep_held(struct choice *x)
{
    const struct cluster *c = x->pool->cluster;
    int32_t at = -1;

    while (x->n < x->size && (at = next_held(x, at)) >= 0) {
        const struct node *node = &c->nodes[at];

        for (int32_t i = node->first; i < node->first + node->devices; i++)
            if (is_kept(x, i) && x->n < x->size)
                choose(x, i);
    }
}

/* The node that fits the rest and leaves least; when none does, the one with most free.
 * Among nodes first .. end - 1; -1: none has a free device. */
static int32_t best_node(const struct choice *x, int32_t first, int32_t end,
                         bool only_own)
{
    const struct place_pool *pool = x->pool;
    int32_t left = x->size - x->n;
    int32_t best = -1;

    for (int32_t i = first; i < end; i++) {
        int32_t n = pool->on_node[i];
        bool fits = n >= left;
        bool best_fits = best >= 0 && pool->on_node[best] >= left;

        if (n == 0 || pool->cluster->node_types[i] != x->type ||
            (only_own && pool->held[i] == 0))
            continue;
        if (best < 0 || (fits && !best_fits) || (fits && n < pool->on_node[best]) ||
            (!fits && !best_fits && n > pool->on_node[best]))
            best = i;
    }
    return best;
}

/* Takes from the best nodes, one after the other. A node is given out whole or ends the
 * search, so none is asked twice: its count is 0 meanwhile. */
static void grow(struct choice *x, int32_t first, int32_t end, bool only_own)
{
    struct place_pool *pool = x->pool;
    int32_t at;

    while (x->n < x->size && (at = best_node(x, first, end, only_own)) >= 0) {
        const struct node *node = &pool->cluster->nodes[at];

        for (int32_t i = node->first; i < node->first + node->devices; i++)
            if (pool->free[i] && x->n < x->size)
                choose(x, i);
        pool->on_node[at] = 0;
    }
}

static int index_cmp(const void *pa, const void *pb)
{
    const int32_t *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

/* Counts again what the pool has on the nodes that grow() set to 0. */
static void restore(struct choice *x, int32_t n_kept)
{
    struct place_pool *pool = x->pool;

    for (int32_t i = n_kept; i < x->n; i++) {
        uint32_t at = pool->cluster->devices[x->devices[i]].node;
        const struct node *node = &pool->cluster->nodes[at];

        if (pool->on_node[at] > 0)
            continue;
        for (int32_t k = node->first; k < node->first + node->devices; k++)
            pool->on_node[at] += pool->free[k];
    }
}

int place_choose(struct place_pool *pool, uint32_t job, int32_t type, int32_t size,
                 int32_t *ret_devices)
{
    struct choice x = {
        .pool = pool, .job = job, .type = type, .size = size, .devices = ret_devices};
    int32_t n_kept;

    ASSERT(job != 0);
    ASSERT(type >= 0 && type < pool->cluster->n_types);
    count_held(&x, 1);
    keep_held(&x);
    n_kept = x.n;
    grow(&x, x.first_node, x.end_node, true);
    grow(&x, 0, pool->cluster->n_nodes, false);
    restore(&x, n_kept);
    count_held(&x, -1);
    if (x.n < size)
        return E_INFEASIBLE;
    qsort(ret_devices, (size_t)size, sizeof *ret_devices, index_cmp);
    return 0;
}

int32_t place_nodes(const struct cluster *cluster, const int32_t *devices, int32_t n)
{
    int32_t nodes = 0;

    for (int32_t i = 0; i < n; i++)
        if (i == 0 ||
            cluster->devices[devices[i]].node != cluster->devices[devices[i - 1]].node)
            nodes++;
    return nodes;
}
