/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rows.c - see bench_rows.h. Each shape draws from a stream of its own, so that one
 * can be changed without moving the others. */
#include "cli/bench_rows.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"

#define LARGE_SIZES 4 /* options of an adversarial row, at most */

const char *bench_shape_name(enum bench_shape shape)
{
    static const char *const names[] = {"concave", "steps", "noisy", "adversarial"};

    ASSERT((unsigned)shape < ARRAY_SIZE(names));
    return names[shape];
}

/* What a device is worth at most, so that no row passes VALUE_MAX. */
static double unit_of(int32_t max_size)
{
    double most = (double)VALUE_MAX / 2.0 / (double)max_size;

    return most < 1e6 ? most : 1e6;
}

static int32_t concave_row(struct alloc_option *o, int32_t max_size, struct rng *rng)
{
    double gain = (0.5 + 0.5 * rng_double(rng)) * unit_of(max_size);
    double fall = 0.8 + 0.199 * rng_double(rng);
    double value = 0.0;

    for (int32_t k = 1; k <= max_size; k++, gain *= fall) {
        value += gain;
        o[k - 1] = (struct alloc_option){k, (int64_t)value};
    }
    return max_size;
}

static int32_t steps_row(struct alloc_option *o, int32_t max_size, struct rng *rng)
{
    int64_t workers = rng_between(rng, 1, max_size);
    double each = (0.5 + 0.5 * rng_double(rng)) * unit_of(max_size);

    for (int32_t k = 1; k <= max_size; k++) {
        double speed = (double)workers / (double)i64_div_up(workers, k);

        o[k - 1] = (struct alloc_option){k, (int64_t)(speed * each)};
    }
    return max_size;
}

static int32_t noisy_row(struct alloc_option *o, int32_t max_size, struct rng *rng)
{
    int32_t least = rng_below(rng, 10) == 0 ? i32_min(max_size, 2) : 1;
    int32_t n = concave_row(o, max_size, rng);
    int32_t kept = 0;

    for (int32_t i = 0; i < n; i++) {
        double noise = 0.95 + 0.1 * rng_double(rng);
        bool is_missing = rng_below(rng, 5) == 0 && i + 1 < n;

        if (o[i].size < least || is_missing)
            continue;
        o[kept++] =
            (struct alloc_option){o[i].size, (int64_t)((double)o[i].value * noise)};
    }
    return kept;
}

static int32_t adversarial_row(struct alloc_option *o, int32_t max_size, struct rng *rng)
{
    int32_t n =
        (int32_t)rng_between(rng, 1, i32_min(LARGE_SIZES, i32_max(1, max_size / 4)));
    int32_t size = max_size / 2;
    double unit = unit_of(max_size);

    for (int32_t i = 0; i < n; i++) {
        size += (int32_t)rng_between(rng, 1, i32_max(1, max_size / 2 / n));
        size = i32_min(size, max_size - (n - 1 - i));
        o[i] = (struct alloc_option){size,
                                     (int64_t)(unit * size) + (int64_t)rng_below(rng, 8)};
    }
    return n;
}

static int32_t make_row(struct alloc_option *o, enum bench_shape shape, int32_t max_size,
                        struct rng *rng)
{
    switch (shape) {
    case BENCH_CONCAVE:
        return concave_row(o, max_size, rng);
    case BENCH_STEPS:
        return steps_row(o, max_size, rng);
    case BENCH_NOISY:
        return noisy_row(o, max_size, rng);
    case BENCH_ADVERSARIAL:
    case BENCH_SHAPE_MAX:
        break;
    }
    return adversarial_row(o, max_size, rng);
}

int bench_rows_make(struct bench_rows *b, enum bench_shape shape, int32_t jobs,
                    int32_t devices, int32_t max_size, uint64_t seed)
{
    struct rng rng = rng_stream(seed, bench_shape_name(shape));
    struct alloc_row *rows = mem_new((size_t)jobs, sizeof *rows);
    int64_t least = 0;

    *b = (struct bench_rows){.problem = {rows, jobs, devices}};
    b->options = mem_new((size_t)jobs * (size_t)max_size, sizeof *b->options);
    if (!rows || !b->options) {
        bench_rows_release(b);
        return E_NOMEM;
    }
    for (int32_t i = 0; i < jobs; i++) {
        struct alloc_option *o = b->options + (size_t)i * (size_t)max_size;

        rows[i].options = o;
        rows[i].n_options = make_row(o, shape, max_size, &rng);
        b->n_options += rows[i].n_options;
        least += o[0].size;
    }
    for (int32_t i = 0; i < jobs; i++)
        rows[i].may_wait = least > devices;
    return 0;
}

void bench_rows_release(struct bench_rows *b)
{
    mem_free((void *)b->problem.rows);
    mem_free(b->options);
    *b = (struct bench_rows){0};
}
