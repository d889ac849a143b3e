/* SPDX-License-Identifier: Apache-2.0 */
/* solver.h - the parts of the main solver, and what they share.
 *
 *     solver.c  rows to curves, from curves to a result
 *     relax.c   the linear relaxation: a price for devices, and each row's size at it
 *     search.c  from there to the optimum, row by row
 *     dense.c   the recurrence over what is left, when the search ends at its budget
 *
 * Private to alloc/. All memory is kept between solves and grows with them. */
#ifndef CORE_ALLOC_SOLVER_H
#define CORE_ALLOC_SOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/alloc/alloc.h"
#include "core/alloc/curve.h"

/* An edge of a row's curve: so many devices more, so much gain. */
struct edge {
    int64_t gain;
    int32_t devices;
    int32_t row;
};

/* Edges by falling slope, equal ones by row. In `down` all is mirrored (edge_mirror), so
 * that its first is the edge that would be given back first. */
struct edge_heap {
    struct edge *edges;
    size_t cap;
    int32_t n;
};

#define POOL_CLASSES 16

/* Memory for corners, in slots of a power of two. */
struct corner_pool {
    struct corner *corners;
    size_t cap;
    size_t used;
    size_t unused[POOL_CLASSES]; /* 1 + the first free slot of 2^class corners; 0: none */
};

/* A partial solution of the search, relative to that of the relaxation. */
struct search_state {
    int64_t gain;
    int32_t devices;
    int32_t node; /* how it came about; -1: nothing changed */
    int32_t size; /* its newest row now takes this; -1: it did not change */
};

struct search_list {
    struct search_state *states; /* devices and gain both strictly ascending */
    size_t cap;
    size_t n;
};

/* One changed row of a partial solution, and those before it. */
struct search_node {
    int32_t before;
    int32_t row;
    int32_t size;
};

struct search_move {
    int64_t gain;
    int32_t devices;
    int32_t size;
};

struct search_work {
    struct search_list now, next, spare;
    struct search_move *moves;
    size_t cap_moves;
    struct search_node *nodes;
    size_t cap_nodes;
    size_t n_nodes;
    int32_t *mark; /* while nodes are collected: where each one goes */
    size_t cap_mark;
};

/* What the search found. */
struct search_result {
    int64_t gain; /* over the relaxation's whole sizes, >= 0 */
    int32_t node; /* the rows that differ from those */
    int64_t bound;
    bool is_complete; /* nothing is better */
};

struct solver {
    const struct alloc_row *rows; /* borrowed */
    int32_t n_rows;
    int32_t devices;

    struct curve *curves;
    size_t cap_curves;
    struct corner_pool pool;
    struct corner *traced; /* of one row */
    size_t cap_traced;
    int64_t factor; /* T of the weights; 0: no curve is valid */
    int32_t limit;  /* curves leave out steps that need more devices than this */

    /* The relaxation: after relax_*() all edges before the first of `up` are taken. That
     * one needs more devices than the room leaves, or there is none. */
    int64_t base; /* sum of w at the least sizes */
    int64_t gain; /* of the taken edges */
    int32_t room; /* devices above the least sizes that sizes can make use of */
    int32_t used; /* of these, by the taken edges */
    struct edge_heap up, down;
    struct edge price; /* the first of `up`; devices 1 and gain 0 when there is none */
    int32_t *active, *position;
    size_t cap_active, cap_position;

    struct search_work search;
    void *dense; /* memory of dense.c */
    size_t cap_dense;
    int32_t *sizes;
    size_t cap_sizes;
};

enum solver_start { SOLVER_COLD, SOLVER_WARM };

void solver_release(struct solver *s);

/* Are there sizes at all? Needs begun curves. */
bool solver_is_feasible(const struct solver *s);

/* Solves into s->sizes and *ret. Cold forgets what is in the curves, warm traces those
 * that changed. The curves were begun, the rows fit. Returns 0 or E_NOMEM. */
int solver_run(struct solver *s, enum solver_start start, struct alloc_result *ret);

/* Slots for corners. pool_give() takes one back. */
int pool_take(struct corner_pool *pool, int32_t n, size_t *ret_at, int32_t *ret_n);
void pool_give(struct corner_pool *pool, size_t at, int32_t n);

/* Edge i of row j. */
struct edge edge_of(const struct solver *s, int32_t j, int32_t i);
struct edge edge_mirror(struct edge e);
void edge_heap_sink(struct edge_heap *heap, int32_t hole, struct edge e);
void edge_heap_build(struct edge_heap *heap);
/* Removes the first. */
void edge_heap_pop(struct edge_heap *heap);

/* From nothing taken; O(edges) at worst, typically O(rows * log edges). */
void relax_select(struct solver *s);
/* Takes what an unchanged solver would have taken at its price. */
void relax_place(struct solver *s, int32_t j);
/* From a state in which exactly the edges before some edge are taken. */
void relax_adjust(struct solver *s);

/* The budget of the search in states looked at; about three nanoseconds apiece. */
#define SEARCH_WORK_MAX ((int64_t)1 << 26)

/* The search. The heaps are used up. Returns 0 or E_NOMEM. */
int search_run(struct solver *s, int64_t work_max, struct search_result *ret);

/* The recurrence over all that a solution better than `gain` (above base) can hold.
 * Returns 0, and a better one in s->sizes with its gain in *gain if there is one; E_LIMIT
 * beyond its budget; E_NOMEM. */
int dense_run(struct solver *s, int64_t *gain);

#endif
