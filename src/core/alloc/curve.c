/* SPDX-License-Identifier: Apache-2.0 */
/* curve.c - one pass over a row's options to the corners of its hull.
 *
 * If every row's gain were concave in its devices, handing out devices by best marginal
 * gain would be exact. So each row is replaced by the upper hull of its points (Sinha and
 * Zoltners, 1979): the edges between the corners have falling slope. A point on an edge
 * stays a corner, since two short edges fit where a long one does not.
 *
 * A size that gains no more than a smaller one is passed over: any solution with it is as
 * good without, because the devices that it saves may stay idle. So is what needs more
 * devices than `limit`.
 *
 * This pass reads every option that fits, and nothing after it does. Products: gains
 * <= 2^47 + 1 (reduced.c), steps <= 2^13, so below 2^61. */
#include "core/alloc/curve.h"

#include "base/assert.h"
#include "core/alloc/reduced.h"

int32_t curve_divisor(int32_t a, int32_t b)
{
    while (b != 0) {
        int32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

void curve_begin(struct curve *c, const struct alloc_row *row)
{
    c->least = reduced_least(row);
    c->top = 0;
    if (c->least >= 0 && row->n_options > 0)
        c->top = row->options[row->n_options - 1].size - c->least;
    ASSERT(c->top >= 0);
    ASSERT(c->top <= SIZE_MAX_DEVICES);
    c->is_stale = true;
}

/* Does b lie below the line from a to c? */
static bool is_below(const struct corner *a, const struct corner *b,
                     const struct corner *c)
{
    return (b->gain - a->gain) * (c->devices - b->devices) <
           (c->gain - b->gain) * (b->devices - a->devices);
}

static int32_t add_corner(struct corner *corners, int32_t n, struct corner c)
{
    static const struct corner origin = {0, 0};

    while (n > 0 && is_below(n > 1 ? &corners[n - 2] : &origin, &corners[n - 1], &c))
        n--;
    corners[n] = c;
    return n + 1;
}

int32_t curve_trace(struct curve *c, const struct alloc_row *row, int64_t factor,
                    int32_t limit, struct corner *corners)
{
    int32_t last = 0, n = 0, least = c->least;
    int64_t best = 0;

    ASSERT(least >= 0);
    c->base = reduced_weight(row, factor, least, least ? row->options[0].value : 0);
    c->divisor = 0;
    for (int32_t i = 0; i < row->n_options; i++) {
        const struct alloc_option *o = &row->options[i];
        struct corner next = {reduced_weight(row, factor, o->size, o->value) - c->base,
                              o->size - least};

        ASSERT(o->size > last);
        ASSERT(o->value <= VALUE_MAX);
        ASSERT(o->value >= -VALUE_MAX);
        last = o->size;
        if (next.devices > limit)
            break;
        if (next.gain <= best)
            continue;
        best = next.gain;
        if (c->divisor != 1)
            c->divisor = curve_divisor(next.devices, c->divisor);
        n = add_corner(corners, n, next);
    }
    c->n_corners = n;
    c->is_stale = false;
    return n;
}
