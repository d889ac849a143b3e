/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - see sample.h.
 *
 * The usual shapes stand for jobs as they are measured: concave ones in theory, steps and
 * noise in practice. The adversarial ones are what the literature on knapsacks found to
 * be hard: values that follow the sizes, so that no price tells one choice from another,
 * and room that no sum of sizes meets. */
#include "core/alloc/sample.h"

#include <stdbool.h>

#include "base/assert.h"
#include "base/units.h"

const char *sample_shape_name(enum sample_shape shape)
{
    static const char *const names[] = {
        [SAMPLE_CONCAVE] = "concave",   [SAMPLE_STEPS] = "steps",
        [SAMPLE_NOISY] = "noisy",       [SAMPLE_GAPPY] = "gappy",
        [SAMPLE_EQUAL] = "equal",       [SAMPLE_CORRELATED] = "correlated",
        [SAMPLE_GAP] = "gap",           [SAMPLE_GAPS] = "gaps",
        [SAMPLE_ONE_SIZE] = "one-size", [SAMPLE_HUGE] = "huge",
    };

    ASSERT(shape < SAMPLE_SHAPE_MAX);
    return names[shape];
}

/* One row under construction. */
struct maker {
    struct rng *rng;
    struct alloc_row *row;
    struct alloc_option *options;
    int32_t max_size;
};

static void add(struct maker *m, int32_t size, int64_t value)
{
    m->options[m->row->n_options++] = (struct alloc_option){size, value};
}

static int32_t draw(const struct maker *m, int32_t low, int32_t high)
{
    return (int32_t)rng_between(m->rng, low, high);
}

/* Weighted speed-up of k devices with this serial part, both in millionths. */
static int64_t speed_up(int64_t weight, int64_t serial, int32_t k)
{
    return weight * k * PPM / (PPM + serial * (k - 1));
}

static void make_measured(struct maker *m, enum sample_shape shape)
{
    int64_t weight = rng_between(m->rng, 500000, 2000000);
    int64_t serial = rng_between(m->rng, 1000, 300000);
    int32_t first = shape == SAMPLE_GAPPY ? draw(m, 1, i32_min(4, m->max_size)) : 1;

    m->row->may_wait = shape == SAMPLE_GAPPY && rng_below(m->rng, 4) == 0;
    for (int32_t k = first, step = first; k <= m->max_size; k++) {
        int64_t value;

        if (shape == SAMPLE_GAPPY && k > first && rng_below(m->rng, 2))
            continue;
        if (k >= 2 * step)
            step = k;
        value = speed_up(weight, serial, shape == SAMPLE_STEPS ? step : k);
        if (shape == SAMPLE_NOISY || shape == SAMPLE_GAPPY)
            value = value * rng_between(m->rng, 900, 1100) / 1000;
        add(m, k, value);
    }
}

static void make_equal(struct maker *m)
{
    for (int32_t k = (m->max_size + 3) / 4; k <= m->max_size; k++)
        if (rng_below(m->rng, 4) == 0 || k == m->max_size)
            add(m, k, (int64_t)k * 10000);
    m->row->may_wait = true;
}

/* Even sizes, or the odd ones below them at a hundredth of their value. */
static void make_gap(struct maker *m, bool is_odd)
{
    int32_t top = i32_max(1, m->max_size / 2);

    for (int32_t k = 1; k <= top; k++)
        if (is_odd)
            add(m, 2 * k - 1, (int64_t)k * 100);
        else if (k % 4 == 1 && 2 * k <= m->max_size)
            add(m, 2 * k, (int64_t)k * 20000);
    m->row->may_wait = true;
}

static void make_adversarial(struct maker *m, enum sample_shape shape, int32_t j)
{
    int32_t size = draw(m, (m->max_size + 1) / 2, m->max_size);

    switch (shape) {
    case SAMPLE_EQUAL:
        make_equal(m);
        break;
    case SAMPLE_CORRELATED:
        add(m, size, (int64_t)size * 10000 + (int64_t)m->max_size * 1000);
        m->row->may_wait = true;
        break;
    case SAMPLE_GAP:
        make_gap(m, j == 0);
        break;
    case SAMPLE_GAPS:
        make_gap(m, j % 16 == 0);
        break;
    case SAMPLE_ONE_SIZE:
        add(m, (m->max_size + 1) / 2, rng_between(m->rng, 0, 1000000));
        m->row->may_wait = true;
        break;
    case SAMPLE_HUGE:
        for (int32_t k = 1; k <= m->max_size; k++)
            add(m, k, rng_between(m->rng, -VALUE_MAX, VALUE_MAX));
        break;
    case SAMPLE_CONCAVE:
    case SAMPLE_STEPS:
    case SAMPLE_NOISY:
    case SAMPLE_GAPPY:
    case SAMPLE_SHAPE_MAX:
        break;
    }
}

void sample_fill(struct rng *rng, enum sample_shape shape, int32_t n_rows,
                 int32_t max_size, struct alloc_row *rows, struct alloc_option *options)
{
    ASSERT(max_size >= 1 && max_size <= SIZE_MAX_DEVICES);
    for (int32_t j = 0; j < n_rows; j++) {
        struct maker m = {rng, &rows[j], options + (size_t)j * (size_t)max_size,
                          max_size};

        rows[j] = (struct alloc_row){.options = m.options};
        if (shape <= SAMPLE_GAPPY)
            make_measured(&m, shape);
        else
            make_adversarial(&m, shape, j);
        if (rows[j].n_options > 0 && rng_below(rng, 2))
            rows[j].held = m.options[rng_below(rng, (uint64_t)rows[j].n_options)].size;
    }
}
