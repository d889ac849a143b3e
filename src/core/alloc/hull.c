/* SPDX-License-Identifier: Apache-2.0 */
/* hull.c - greedy over concave hulls, the bound of the linear relaxation, and what
 * follows from the two.
 *
 * If every row's gain were concave in its devices, handing out devices by best marginal
 * gain would be exact. So each row is replaced by the upper hull of its points (the paper
 * of Sinha and Zoltners, 1979, does this to the linear relaxation): its edges have
 * falling slope, and taking edges in the order of slope over all rows is the optimum of
 * the relaxation. The first edge that does not fit is the one of which the relaxation
 * takes a part; its slope is the price of a device, and
 *
 *     bound = gain so far + slope * devices left, rounded down.
 *
 * The greedy solution goes on with the edges that still fit, and then with any single
 * step that does. Where it meets the bound it is optimal, and the price proves that to
 * anyone: sum over rows of max(gain - price * devices), plus price * room, is the bound.
 *
 * Where a gap stays, the price still helps (Dyer, Kayal, Walker 1984): a row that takes
 * a step other than its best at this price loses the difference against the bound. If one
 * such loss alone uses up the gap, no better solution takes that step. What survives is
 * most often a small core; dp.c searches that.
 *
 * Invariants:
 *   1. Slopes are compared as fractions by cross products, never divided. With gains
 *      <= 2^47 + 1 and steps <= 2^13 devices, products stay below 2^61, and losses, which
 *      are differences of two differences of products, below 2^63.
 *   2. Edges of equal slope come in the order of rows, so the result depends on the rows
 *      and the room alone. */
#include "core/alloc/hull.h"

#include "base/assert.h"

/* Rounds of filling up; each takes one pass over all steps. */
#define FILL_ROUNDS_MAX 8

static const struct step origin = {0, 0, 0};

/* Does b lie below the line from a to c? On the line it stays a corner: two short edges
 * fit where a long one does not. */
static bool is_no_corner(const struct step *a, const struct step *b, const struct step *c)
{
    return (b->gain - a->gain) * (c->devices - b->devices) <
           (c->gain - b->gain) * (b->devices - a->devices);
}

static void build_hull(const struct reduced *r, int32_t j, struct hull_work *work)
{
    int32_t *corner = work->corner + r->first[j];
    int32_t n = 0;

    for (int32_t i = r->first[j]; i < r->end[j]; i++) {
        while (n > 0 && is_no_corner(n > 1 ? &r->steps[corner[n - 2]] : &origin,
                                     &r->steps[corner[n - 1]], &r->steps[i]))
            n--;
        corner[n++] = i;
    }
    work->n_corners[j] = n;
    work->reached[j] = 0;
}

/* The next edge of row j's hull; false after its last corner. */
static bool next_edge(const struct reduced *r, const struct hull_work *work, int32_t j,
                      struct hull_edge *ret)
{
    const int32_t *corner = work->corner + r->first[j];
    int32_t n = work->reached[j];
    const struct step *from = n > 0 ? &r->steps[corner[n - 1]] : &origin;

    if (n == work->n_corners[j])
        return false;
    ret->gain = r->steps[corner[n]].gain - from->gain;
    ret->devices = r->steps[corner[n]].devices - from->devices;
    ret->row = j;
    return true;
}

static bool comes_before(const struct hull_edge *a, const struct hull_edge *b)
{
    int64_t left = a->gain * b->devices;
    int64_t right = b->gain * a->devices;

    return left != right ? left > right : a->row < b->row;
}

/* Puts the edge where the hole sinks to, in a heap of n. */
static void sink(struct hull_edge *heap, int32_t n, int32_t hole, struct hull_edge edge)
{
    for (;;) {
        int32_t child = 2 * hole + 1;

        if (child >= n)
            break;
        if (child + 1 < n && comes_before(&heap[child + 1], &heap[child]))
            child++;
        if (!comes_before(&heap[child], &edge))
            break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = edge;
}

static int32_t build_heap(const struct reduced *r, struct hull_work *work)
{
    struct hull_edge edge;
    int32_t n = 0;

    for (int32_t j = 0; j < r->n_rows; j++) {
        build_hull(r, j, work);
        if (next_edge(r, work, j, &edge))
            work->heap[n++] = edge;
    }
    for (int32_t i = n / 2 - 1; i >= 0; i--)
        sink(work->heap, n, i, work->heap[i]);
    return n;
}

static void add_gain(struct hull_result *found, int64_t gain)
{
    found->gain += gain;
    found->slack -= gain * found->price_devices; /* no price, no slack */
}

/* The first edge that does not fit sets the price, and the price the bound. */
static void set_price(struct hull_result *found, const struct hull_edge *edge,
                      int32_t room)
{
    found->price_gain = edge->gain;
    found->price_devices = edge->devices;
    found->slack = edge->gain * room;
    found->bound = found->gain + edge->gain * room / edge->devices;
}

/* Takes the edges in order, those that fit; returns the devices left. After an edge that
 * does not fit come no others of its row. */
static int32_t take_edges(const struct reduced *r, struct hull_work *work,
                          struct hull_result *found)
{
    int32_t n = build_heap(r, work);
    int32_t room = r->room;

    *found = (struct hull_result){0};
    while (n > 0 && room > 0) {
        struct hull_edge edge = work->heap[0];
        bool fits = edge.devices <= room;

        if (fits) {
            room -= edge.devices;
            add_gain(found, edge.gain);
            work->reached[edge.row]++;
        } else if (found->price_devices == 0) {
            set_price(found, &edge, room);
        }
        if (!fits || !next_edge(r, work, edge.row, &edge))
            edge = work->heap[--n];
        if (n > 0)
            sink(work->heap, n, 0, edge);
    }
    if (found->price_devices == 0)
        found->bound = found->gain;
    return room;
}

static const struct step *step_of(const struct reduced *r, int32_t index)
{
    return index >= 0 ? &r->steps[index] : &origin;
}

/* Takes the one step that gains most with the devices left; false if there is none. */
static bool fill(const struct reduced *r, int32_t *step, int32_t *room,
                 struct hull_result *found)
{
    int64_t best = 0;
    int32_t best_row = 0, best_step = -1;

    for (int32_t j = 0; j < r->n_rows; j++) {
        const struct step *now = step_of(r, step[j]);
        int32_t i = step[j] >= 0 ? step[j] + 1 : r->first[j];

        for (; i < r->end[j] && r->steps[i].devices - now->devices <= *room; i++)
            if (r->steps[i].gain - now->gain > best) {
                best = r->steps[i].gain - now->gain;
                best_row = j;
                best_step = i;
            }
    }
    if (best == 0)
        return false;
    *room -= r->steps[best_step].devices - step_of(r, step[best_row])->devices;
    add_gain(found, best);
    step[best_row] = best_step;
    return true;
}

void hull_solve(const struct reduced *r, struct hull_work *work, int32_t *step,
                struct hull_result *ret)
{
    int32_t room = take_edges(r, work, ret);

    for (int32_t j = 0; j < r->n_rows; j++)
        step[j] =
            work->reached[j] > 0 ? work->corner[r->first[j] + work->reached[j] - 1] : -1;
    for (int round = 0; ret->gain < ret->bound && round < FILL_ROUNDS_MAX; round++)
        if (!fill(r, step, &room, ret))
            break;
    ASSERT(ret->gain <= ret->bound);
}

/* The gain of a step at the given price of devices, times price_devices. */
static int64_t net_gain(const struct step *s, const struct hull_result *price)
{
    return s->gain * price->price_devices - price->price_gain * s->devices;
}

/* Keeps what row j may still take in a better solution. */
static bool strike_row(struct reduced *r, int32_t j, const struct hull_result *found)
{
    int64_t best = 0; /* the least size nets 0 */
    int64_t allowed;
    int32_t n = r->first[j];
    struct step least;

    for (int32_t i = r->first[j]; i < r->end[j]; i++)
        if (net_gain(&r->steps[i], found) > best)
            best = net_gain(&r->steps[i], found);
    allowed = best - (found->slack - found->price_devices);
    for (int32_t i = r->first[j]; i < r->end[j]; i++)
        if (net_gain(&r->steps[i], found) >= allowed)
            r->steps[n++] = r->steps[i];
    r->end[j] = n;
    if (allowed <= 0)
        return true;
    if (n == r->first[j])
        return false;
    least = r->steps[r->first[j]++];
    r->base += least.gain;
    r->room -= least.devices;
    r->least[j] = least.size;
    for (int32_t i = r->first[j]; i < n; i++) {
        r->steps[i].gain -= least.gain;
        r->steps[i].devices -= least.devices;
    }
    return true;
}

bool hull_strike(struct reduced *r, const struct hull_result *found)
{
    ASSERT(found->price_devices > 0);
    ASSERT(found->slack >= found->price_devices);
    for (int32_t j = 0; j < r->n_rows; j++)
        if (!strike_row(r, j, found))
            return false;
    return r->room >= 0;
}
