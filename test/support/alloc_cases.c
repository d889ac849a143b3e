/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_cases.c - see alloc_cases.h. Nothing here shares code with src/core/alloc. */
#include "support/alloc_cases.h"

#include "base/assert.h"

/* Values that collide often, so that ties are common. */
static int64_t wild_value(struct rng *rng)
{
    switch (rng_below(rng, 4)) {
    case 0:
        return rng_between(rng, -2, 2);
    case 1:
        return rng_between(rng, -VALUE_MAX, VALUE_MAX);
    default:
        return rng_between(rng, -20, 60);
    }
}

static void fill_wild(struct alloc_row *row, struct alloc_option *options,
                      struct rng *rng, int32_t sizes)
{
    uint64_t density = 1 + rng_below(rng, 4);

    row->may_wait = rng_below(rng, 3) == 0;
    for (int32_t size = 1; size <= sizes; size++)
        if (rng_below(rng, 4) < density && row->n_options < CASE_OPTIONS_MAX)
            options[row->n_options++] = (struct alloc_option){size, wild_value(rng)};
    if (rng_below(rng, 2))
        row->held = (int32_t)rng_below(rng, (uint64_t)sizes + 1);
}

static void fill_concave(struct alloc_row *row, struct alloc_option *options,
                         struct rng *rng, int32_t sizes)
{
    int64_t value = rng_between(rng, 0, 1000000);
    int64_t gain = rng_between(rng, 0, 1000000);

    row->n_options = (int32_t)rng_between(rng, 1, sizes);
    row->held = -1; /* a bonus for a size would make a bump */
    for (int32_t i = 0; i < row->n_options; i++) {
        options[i] = (struct alloc_option){i + 1, value};
        value += gain;
        gain = rng_between(rng, 0, gain);
    }
}

/* S(k) = k * (1 + comm) / (1 + comm * overhead(k)) with 1e6 = 1, as a ring would give. */
static void fill_real(struct alloc_row *row, struct alloc_option *options,
                      struct rng *rng, int32_t sizes)
{
    int64_t comm_ppm = rng_between(rng, 0, 3000000);
    int32_t first = (int32_t)rng_between(rng, 1, 2);

    for (int32_t k = first; k <= sizes; k++) {
        int64_t time_ppm = 1000000 + comm_ppm * 2 * (k - 1) / k;

        if (k > first && rng_below(rng, 8) == 0)
            continue;
        options[row->n_options++] =
            (struct alloc_option){k, k * INT64_C(1000000000000) / time_ppm};
    }
    if (row->n_options == 0)
        options[row->n_options++] = (struct alloc_option){1, 1000000};
    row->held = options[rng_below(rng, (uint64_t)row->n_options)].size;
}

void alloc_case_random(struct alloc_case *c, struct rng *rng, enum case_shape shape,
                       const struct case_range *range)
{
    ASSERT(range->rows <= CASE_ROWS_MAX);
    ASSERT(range->sizes <= CASE_OPTIONS_MAX);
    c->problem.rows = c->rows;
    c->problem.n_rows = (int32_t)rng_between(rng, 0, range->rows);
    c->problem.devices = (int32_t)rng_between(rng, 0, range->devices);
    for (int32_t j = 0; j < c->problem.n_rows; j++) {
        c->rows[j] = (struct alloc_row){.options = c->options[j]};
        if (shape == CASE_WILD)
            fill_wild(&c->rows[j], c->options[j], rng, range->sizes);
        else if (shape == CASE_CONCAVE)
            fill_concave(&c->rows[j], c->options[j], rng, range->sizes);
        else
            fill_real(&c->rows[j], c->options[j], rng, range->sizes);
    }
}

void alloc_case_sample(struct alloc_case *c, struct rng *rng, enum sample_shape shape,
                       const struct case_range *range)
{
    ASSERT(range->rows <= CASE_ROWS_MAX);
    ASSERT(range->sizes <= CASE_OPTIONS_MAX);
    c->problem.rows = c->rows;
    c->problem.n_rows = (int32_t)rng_between(rng, 1, range->rows);
    c->problem.devices = (int32_t)rng_between(rng, 0, range->devices);
    sample_fill(rng, shape, c->problem.n_rows, (int32_t)rng_between(rng, 1, range->sizes),
                c->rows, &c->options[0][0]);
}

static bool is_better(int64_t value, int32_t unchanged, const struct case_answer *than)
{
    if (!than->is_feasible || value != than->value)
        return !than->is_feasible || value > than->value;
    return unchanged > than->unchanged;
}

/* The answer of one combination; option -1 is size 0. */
static struct case_answer weigh(const struct alloc_problem *p, const int32_t *option)
{
    struct case_answer a = {.is_feasible = true};
    int64_t used = 0;

    for (int32_t j = 0; j < p->n_rows; j++) {
        const struct alloc_row *row = &p->rows[j];
        int32_t size = option[j] >= 0 ? row->options[option[j]].size : 0;

        a.is_feasible = a.is_feasible && (option[j] >= 0 || row->may_wait);
        a.value += option[j] >= 0 ? row->options[option[j]].value : 0;
        a.unchanged += size == row->held;
        used += size;
    }
    a.is_feasible = a.is_feasible && used <= p->devices;
    return a;
}

/* Counts through all combinations like an odometer. */
static bool next_combination(const struct alloc_problem *p, int32_t *option)
{
    for (int32_t j = 0; j < p->n_rows; j++) {
        if (++option[j] < p->rows[j].n_options)
            return true;
        option[j] = -1;
    }
    return false;
}

struct case_answer alloc_case_brute(const struct alloc_problem *p)
{
    struct case_answer best = {0};
    int32_t option[CASE_ROWS_MAX];

    for (int32_t j = 0; j < p->n_rows; j++)
        option[j] = -1;
    do {
        struct case_answer a = weigh(p, option);

        if (a.is_feasible && is_better(a.value, a.unchanged, &best))
            best = a;
    } while (next_combination(p, option));
    return best;
}

static void try_size(struct case_answer *cell, const struct case_answer *before,
                     int64_t value, bool is_unchanged)
{
    int32_t unchanged = before->unchanged + is_unchanged;

    if (before->is_feasible && is_better(before->value + value, unchanged, cell))
        *cell = (struct case_answer){true, before->value + value, unchanged};
}

struct case_answer alloc_case_recurrence(const struct alloc_problem *p)
{
    static struct case_answer table[2][CASE_DEVICES_MAX + 1];

    ASSERT(p->devices <= CASE_DEVICES_MAX);
    for (int32_t k = 0; k <= p->devices; k++)
        table[0][k] = (struct case_answer){.is_feasible = true};
    for (int32_t j = 0; j < p->n_rows; j++) {
        const struct alloc_row *row = &p->rows[j];
        const struct case_answer *last = table[j % 2];

        for (int32_t k = 0; k <= p->devices; k++) {
            struct case_answer *cell = &table[(j + 1) % 2][k];

            *cell = (struct case_answer){0};
            if (row->may_wait)
                try_size(cell, &last[k], 0, row->held == 0);
            for (int32_t i = 0; i < row->n_options && row->options[i].size <= k; i++)
                try_size(cell, &last[k - row->options[i].size], row->options[i].value,
                         row->options[i].size == row->held);
        }
    }
    return table[p->n_rows % 2][p->devices];
}
