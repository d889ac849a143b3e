/* SPDX-License-Identifier: Apache-2.0 */
/* reduced.c - from rows and options to steps above the least sizes.
 *
 * A row's least size is its smallest option, or 0 where it may wait. Idle devices are
 * allowed, so the rows fit together exactly when the least sizes do: that settles
 * feasibility, gaps in the sizes included (seed-paper 5.3).
 *
 * A step that needs more devices than a smaller one and gains no more is left out: any
 * solution with it is as good without, because the devices that it saves may stay idle.
 * So are steps that need more than the room there is. What is left ascends strictly in
 * both numbers.
 *
 * Where all steps are multiples of some number (jobs made of replicas of eight devices),
 * the rest of the room cannot be used and is dropped, so that no bound counts on it.
 *
 * Why no sum overflows (limits.h): |v| <= 2^30 and, with at most 2^15 rows, T <= 2^16, so
 * -2^46 <= w <= 2^46 + 1. A gain is a difference of two weights, at most 2^47 + 1. Sums
 * of one weight or gain per row stay below 2^15 * (2^47 + 1) < 2^63. */
#include "core/alloc/reduced.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/units.h"

int64_t reduced_factor(int32_t n_rows)
{
    int64_t factor = 1;

    while (factor <= n_rows)
        factor *= 2;
    return factor;
}

int32_t reduced_least(const struct alloc_row *row)
{
    if (row->may_wait)
        return 0;
    return row->n_options > 0 ? row->options[0].size : -1;
}

static void check_row(const struct alloc_row *row)
{
    int32_t last = 0;

    ASSERT(row->n_options >= 0);
    for (int32_t i = 0; i < row->n_options; i++) {
        ASSERT(row->options[i].size > last);
        ASSERT(row->options[i].value <= VALUE_MAX);
        ASSERT(row->options[i].value >= -VALUE_MAX);
        last = row->options[i].size;
    }
    ASSERT(last <= SIZE_MAX_DEVICES);
}

size_t reduced_count(const struct alloc_problem *p)
{
    size_t n = 0;

    ASSERT(p->n_rows >= 0 && p->n_rows <= JOBS_MAX);
    ASSERT(p->devices >= 0 && p->devices <= DEVICES_MAX);
    for (int32_t j = 0; j < p->n_rows; j++) {
        check_row(&p->rows[j]);
        n += (size_t)p->rows[j].n_options;
    }
    return n; /* <= 2^15 rows * 2^13 sizes */
}

/* Gives every row its least size. */
static int set_least(struct reduced *r, const struct alloc_problem *p)
{
    int64_t factor = reduced_factor(p->n_rows);
    int64_t sum = 0;

    r->base = 0;
    for (int32_t j = 0; j < p->n_rows; j++) {
        const struct alloc_row *row = &p->rows[j];
        int32_t least = reduced_least(row);

        if (least < 0)
            return E_INFEASIBLE;
        r->least[j] = least;
        r->base += reduced_weight(row, factor, least, least ? row->options[0].value : 0);
        sum += least;
    }
    if (sum > p->devices)
        return E_INFEASIBLE;
    r->room = p->devices - (int32_t)sum;
    return 0;
}

/* Writes the steps of row j from steps[n] on; returns where they end. */
static int32_t add_steps(struct reduced *r, int32_t j, const struct alloc_row *row,
                         int64_t factor, int32_t n)
{
    int32_t least = r->least[j];
    int64_t held_back =
        reduced_weight(row, factor, least, least ? row->options[0].value : 0);
    int64_t best = 0;

    for (int32_t i = 0; i < row->n_options; i++) {
        const struct alloc_option *o = &row->options[i];
        int64_t gain = reduced_weight(row, factor, o->size, o->value) - held_back;

        if (o->size - least > r->room)
            break;
        if (o->size == least || gain <= best)
            continue;
        r->steps[n++] = (struct step){gain, o->size - least, o->size};
        best = gain;
    }
    return n;
}

/* The greatest common divisor of all steps; 0 when there are none. */
static int32_t common_divisor(const struct reduced *r, int32_t n_steps)
{
    int32_t divisor = 0;

    for (int32_t i = 0; i < n_steps && divisor != 1; i++) {
        int32_t a = r->steps[i].devices;

        while (a != 0) {
            int32_t rest = divisor % a;

            divisor = a;
            a = rest;
        }
    }
    return divisor;
}

int reduced_build(struct reduced *r, const struct alloc_problem *p)
{
    int64_t factor = reduced_factor(p->n_rows);
    int32_t n = 0;
    int32_t divisor;

    r->n_rows = p->n_rows;
    if (set_least(r, p) < 0)
        return E_INFEASIBLE;
    for (int32_t j = 0; j < p->n_rows; j++) {
        r->first[j] = n;
        n = add_steps(r, j, &p->rows[j], factor, n);
        r->end[j] = n;
    }
    divisor = common_divisor(r, n);
    if (divisor > 1)
        r->room -= r->room % divisor;
    return 0;
}
