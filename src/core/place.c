/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - which devices, once the numbers are known; the rules stand in place.h.
 *
 * One pass counts, per node, what the job holds and what is free; then nodes are taken
 * one after the other, each time the best by the rules. With n nodes and s nodes taken
 * that is O(n * s), and s is small because whole nodes are taken. */
#include "core/place.h"

#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

struct choice {
    const struct cluster *cluster;
    const uint8_t *free;
    uint32_t job;
    const char *device_type;
    int32_t left; /* devices still to be found */
};

static bool holds(const struct choice *x, int32_t device)
{
    return x->cluster->devices[device].job == x->job;
}

static bool type_fits(const struct choice *x, const struct node *node)
{
    return node->state == NODE_UP &&
           (x->device_type[0] == '\0' || strcmp(x->device_type, node->device_type) == 0);
}

static int32_t count_held(const struct choice *x, const struct node *node)
{
    int32_t n = 0;

    for (int32_t i = node->first; i < node->first + node->devices; i++)
        n += holds(x, i);
    return n;
}

static int32_t count_free(const struct choice *x, const struct node *node)
{
    int32_t n = 0;

    for (int32_t i = node->first; i < node->first + node->devices; i++)
        n += !holds(x, i) && x->free[i];
    return n;
}

/* Takes up to `want` devices of the node, held or free ones, lowest index first. */
static void take(struct choice *x, const struct node *node, bool held, int32_t want,
                 uint8_t *taken)
{
    for (int32_t i = node->first; i < node->first + node->devices && want > 0; i++) {
        if (taken[i] || (held ? !holds(x, i) : holds(x, i) || !x->free[i]))
            continue;
        taken[i] = 1;
        want--;
        x->left--;
    }
}

/* The node that holds most, the first of several; -1 when none holds anything. */
static int32_t most_held(const struct choice *x, const uint8_t *visited)
{
    const struct cluster *c = x->cluster;
    int32_t best = -1;
    int32_t most = 0;

    for (int32_t i = 0; i < c->n_nodes; i++) {
        int32_t n = visited[i] ? 0 : count_held(x, &c->nodes[i]);

        if (n > most && c->nodes[i].state == NODE_UP) {
            most = n;
            best = i;
        }
    }
    return best;
}

/* What is held is kept, on the nodes that hold most first. */
static void keep_held(struct choice *x, uint8_t *taken, uint8_t *visited)
{
    const struct cluster *c = x->cluster;

    while (x->left > 0) {
        int32_t best = most_held(x, visited);

        if (best < 0)
            return;
        visited[best] = 1;
        take(x, &c->nodes[best], true, x->left, taken);
    }
}

/* The node that fits the rest and leaves least; when none does, the one with most free.
 */
static int32_t best_node(const struct choice *x, const uint8_t *visited, bool only_own,
                         int32_t *ret_free)
{
    const struct cluster *c = x->cluster;
    int32_t best = -1;
    int32_t best_free = 0;

    for (int32_t i = 0; i < c->n_nodes; i++) {
        const struct node *node = &c->nodes[i];
        int32_t n;
        bool fits, best_fits;

        if (visited[i] || !type_fits(x, node) || (only_own && count_held(x, node) == 0))
            continue;
        n = count_free(x, node);
        fits = n >= x->left;
        best_fits = best >= 0 && best_free >= x->left;
        if (n == 0 || (best_fits && (!fits || n >= best_free)) ||
            (!best_fits && !fits && n <= best_free))
            continue;
        best = i;
        best_free = n;
    }
    *ret_free = best_free;
    return best;
}

static void grow(struct choice *x, bool only_own, uint8_t *taken, uint8_t *visited)
{
    while (x->left > 0) {
        int32_t n;
        int32_t i = best_node(x, visited, only_own, &n);

        if (i < 0)
            return;
        visited[i] = 1;
        take(x, &x->cluster->nodes[i], false, i32_min(n, x->left), taken);
    }
}

/* With type "" all devices are of one type: that of what is held, else the first by index
 * that has enough. */
static const char *settle_type(const struct choice *x)
{
    const struct cluster *c = x->cluster;

    if (x->device_type[0] != '\0')
        return x->device_type;
    for (int32_t i = 0; i < c->n_devices; i++)
        if (holds(x, i))
            return c->nodes[c->devices[i].node].device_type;
    for (int32_t i = 0; i < c->n_nodes; i++) {
        struct choice typed = *x;
        int32_t n = 0;

        typed.device_type = c->nodes[i].device_type;
        for (int32_t j = 0; j < c->n_nodes; j++)
            if (strcmp(c->nodes[j].device_type, typed.device_type) == 0 &&
                c->nodes[j].state == NODE_UP)
                n += count_free(&typed, &c->nodes[j]);
        if (n >= x->left)
            return typed.device_type;
    }
    return x->device_type;
}

int place_choose(const struct cluster *cluster, uint32_t job, const char *device_type,
                 int32_t size, const uint8_t *free, int32_t *ret_devices)
{
    struct choice x = {cluster, free, job, device_type, size};
    size_t n_bytes = (size_t)cluster->n_devices + (size_t)cluster->n_nodes;
    uint8_t *taken = mem_new(n_bytes, 1);
    uint8_t *visited;
    int32_t n = 0;

    ASSERT(job != 0);
    if (!taken)
        return E_NOMEM;
    visited = taken + cluster->n_devices;
    x.device_type = settle_type(&x);
    keep_held(&x, taken, visited);
    memset(visited, 0, (size_t)cluster->n_nodes);
    grow(&x, true, taken, visited);
    grow(&x, false, taken, visited);
    for (int32_t i = 0; i < cluster->n_devices && x.left == 0; i++)
        if (taken[i])
            ret_devices[n++] = i;
    mem_free(taken);
    return x.left == 0 ? 0 : E_INFEASIBLE;
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
