/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - rows for other questions.
 *
 * A cost of change c would have to be taken from every size but the one held, size 0
 * included, whose value is 0 by definition. So the held size is paid c instead: the same
 * up to a constant. Where the row has no such size (any more) there is nothing to choose.
 *
 * Max-min: the smallest size of value >= t grows with t, so the largest t that fits is
 * found by bisection. Each row is first made a staircase (sizes that are worth more than
 * all smaller ones), in which that size is found by bisection too. Above t the problem is
 * the usual one over the options that are left. Values are whole numbers, so t is exact.
 */
#include "core/alloc/variant.h"

#include <stdbool.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "core/alloc/reduced.h"

/* With |value| <= 2^30, products stay below 2^62. */
#define WEIGHT_MAX ((int64_t)1 << 32)

const struct alloc_rule alloc_rule_none = {.weight_ppm = PPM};

void alloc_variant_init(struct alloc_variant *v)
{
    *v = (struct alloc_variant){0};
}

void alloc_variant_release(struct alloc_variant *v)
{
    mem_free(v->rows);
    mem_free(v->options);
    alloc_variant_init(v);
}

/* Makes room for as much as p has. */
static int begin(struct alloc_variant *v, const struct alloc_problem *p)
{
    void *rows = v->rows, *options = v->options;
    int rc;

    rc = mem_reserve(&rows, &v->cap_rows, (size_t)p->n_rows, sizeof *v->rows);
    v->rows = rows;
    if (rc == 0)
        rc = mem_reserve(&options, &v->cap_options, reduced_count(p), sizeof *v->options);
    v->options = options;
    v->problem = (struct alloc_problem){v->rows, p->n_rows, p->devices};
    v->offset = 0;
    return rc;
}

/* Rounded to nearest, halves up. */
static int64_t weigh(int64_t value, int64_t weight_ppm)
{
    int64_t product = value * weight_ppm + PPM / 2;
    int64_t rest = product % PPM;

    return (product - rest) / PPM - (rest < 0);
}

static bool is_forbidden(const struct alloc_rule *rule, int32_t size)
{
    int32_t low = 0, high = rule->n_forbidden;

    if (rule->size_max > 0 && size > rule->size_max)
        return true;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;

        if (rule->forbidden[middle] < size)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rule->n_forbidden && rule->forbidden[low] == size;
}

/* Writes what the rule leaves of the row. Size 0 when held has nothing to change from. */
static int apply_rule(const struct alloc_row *row, const struct alloc_rule *rule,
                      struct alloc_row *ret, struct alloc_option *options)
{
    *ret = *row;
    ret->options = options;
    ret->n_options = 0;
    ret->may_wait = row->may_wait && !is_forbidden(rule, 0);
    for (int32_t i = 0; i < row->n_options; i++) {
        struct alloc_option o = row->options[i];

        if (is_forbidden(rule, o.size))
            continue;
        o.value = weigh(o.value, rule->weight_ppm);
        if (o.size == row->held)
            o.value += rule->change_cost;
        if (o.value > VALUE_MAX || o.value < -VALUE_MAX)
            return E_LIMIT;
        options[ret->n_options++] = o;
    }
    return 0;
}

int alloc_variant_rules(struct alloc_variant *v, const struct alloc_problem *p,
                        const struct alloc_rule *rules)
{
    size_t n = 0;
    int rc = begin(v, p);

    for (int32_t j = 0; j < p->n_rows && rc == 0; j++) {
        if (rules[j].weight_ppm < 0 || rules[j].weight_ppm > WEIGHT_MAX ||
            rules[j].change_cost < 0 || rules[j].change_cost > VALUE_MAX)
            return E_LIMIT;
        rc = apply_rule(&p->rows[j], &rules[j], &v->rows[j], v->options + n);
        n += (size_t)v->rows[j].n_options;
        if (p->rows[j].held > 0)
            v->offset -= rules[j].change_cost;
    }
    return rc;
}

/* The sizes that are worth more than all smaller ones. */
static int32_t make_stairs(const struct alloc_row *row, struct alloc_option *stairs)
{
    int64_t best = row->may_wait ? 0 : INT64_MIN;
    int32_t n = 0;

    for (int32_t i = 0; i < row->n_options; i++)
        if (row->options[i].value > best) {
            best = row->options[i].value;
            stairs[n++] = row->options[i];
        }
    return n;
}

/* The smallest size of value >= least; beyond all devices when there is none. */
static int32_t size_for(const struct alloc_row *stairs, int64_t least)
{
    int32_t low = 0, high = stairs->n_options;

    if (stairs->may_wait && least <= 0)
        return 0;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;

        if (stairs->options[middle].value < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low < stairs->n_options ? stairs->options[low].size : DEVICES_MAX + 1;
}

static bool is_in_reach(const struct alloc_problem *stairs, int64_t least)
{
    int64_t sum = 0;

    for (int32_t j = 0; j < stairs->n_rows; j++)
        sum += size_for(&stairs->rows[j], least);
    return sum <= stairs->devices;
}

/* The largest value that all can have; is_in_reach() for the least of all values. */
static int64_t find_least(const struct alloc_problem *stairs)
{
    int64_t low = -VALUE_MAX, high = VALUE_MAX;

    while (low < high) {
        int64_t middle = high - (high - low) / 2;

        if (is_in_reach(stairs, middle))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Keeps the options of at least this value. */
static void keep_above(struct alloc_variant *v, const struct alloc_problem *p,
                       int64_t least)
{
    struct alloc_option *next = v->options;

    for (int32_t j = 0; j < p->n_rows; j++) {
        v->rows[j] = p->rows[j];
        v->rows[j].options = next;
        v->rows[j].n_options = 0;
        v->rows[j].may_wait = p->rows[j].may_wait && least <= 0;
        for (int32_t i = 0; i < p->rows[j].n_options; i++)
            if (p->rows[j].options[i].value >= least) {
                *next++ = p->rows[j].options[i];
                v->rows[j].n_options++;
            }
    }
}

int alloc_variant_maxmin(struct alloc_variant *v, const struct alloc_problem *p,
                         struct alloc_scratch *s, int32_t *ret_sizes,
                         struct alloc_result *ret, int64_t *ret_least)
{
    struct alloc_option *next;
    int64_t least;
    int rc = begin(v, p);

    if (rc < 0)
        return rc;
    next = v->options;
    for (int32_t j = 0; j < p->n_rows; j++) {
        v->rows[j] = p->rows[j];
        v->rows[j].options = next;
        v->rows[j].n_options = make_stairs(&p->rows[j], next);
        if (v->rows[j].n_options > 0)
            next += v->rows[j].n_options;
    }
    if (!alloc_is_feasible(p))
        return E_INFEASIBLE;
    least = find_least(&v->problem);
    keep_above(v, p, least);
    rc = alloc_solve(&v->problem, s, ret_sizes, ret);
    ASSERT(rc != E_INFEASIBLE);
    if (rc == 0)
        *ret_least = least;
    return rc;
}
