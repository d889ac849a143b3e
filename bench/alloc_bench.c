/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_bench.c - how long an allocation takes, from rows in memory, nothing cached.
 *
 * Rows are those of jobs like the four classes of the reference workload (compute,
 * balanced, communication, launch bound). Kinds: mixed, each row with its own numbers, so
 * that no two are equal; replan, the same after one job left, the others holding what
 * they were given; alike, all rows of a class equal, so that price tells nothing apart;
 * hard, random values without any shape. Where it is feasible in reasonable time the same
 * problem goes through the recurrence as the paper has it, in the same run: `ratio` says
 * how many times longer that takes, and it moves less from machine to machine than
 * nanoseconds do.
 *
 * One JSON line for each figure. Usage: alloc_bench [seed] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"
#include "core/alloc/alloc.h"

#define SIZES_MAX           256
#define RUNS_MAX            50
#define BUDGET_NS           INT64_C(500000000) /* for the runs of one figure */
#define REFERENCE_MAX_CELLS INT64_C(20000000)

static const struct job_class {
    double fixed_s, sample_s; /* of an iteration */
    double parameters;
    int32_t device_batch, batch_max;
} classes[] = {
    {0.025, 0.0050, 25e6, 64, 512},
    {0.020, 0.0016, 45e6, 64, 512},
    {0.015, 0.0005, 120e6, 128, 1024},
    {0.040, 0.0001, 3e6, 256, 1024},
};

static const struct bench_case {
    const char *name;
    int32_t jobs, devices, sizes;
    enum { MIXED, REPLAN, ALIKE, HARD } kind;
} cases[] = {
    {"alloc_100x400", 100, 400, 10, MIXED},
    {"alloc_100x400_replan", 100, 400, 10, REPLAN},
    {"alloc_100x400_alike", 100, 400, 10, ALIKE},
    {"alloc_100x400_hard", 100, 400, 10, HARD},
    {"alloc_1000x4000", 1000, 4000, 16, MIXED},
    {"alloc_1000x4000_alike", 1000, 4000, 16, ALIKE},
    {"alloc_1000x4000_hard", 1000, 4000, 16, HARD},
    {"alloc_10000x16384", 10000, 16384, 64, MIXED},
    {"alloc_10000x16384_replan", 10000, 16384, 64, REPLAN},
    {"alloc_10000x16384_alike", 10000, 16384, 64, ALIKE},
    {"alloc_10000x16384_hard", 10000, 16384, 64, HARD},
    {"alloc_10000x100000", 10000, 100000, 256, MIXED},
    {"alloc_10000x100000_hard", 10000, 100000, 256, HARD},
};

static int64_t now_ns(void)
{
    struct timespec t;

    (void)timespec_get(&t, TIME_UTC);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static double rate(const struct job_class *c, int32_t k, double scale)
{
    int32_t batch = i32_min(c->device_batch, i32_max(1, c->batch_max * 4 / k));
    double comm = k > 1 ? 2.0 * (k - 1) * 1e-4 +
                              2.0 * (k - 1) / k * 4.0 * c->parameters * scale / 3e9
                        : 0.0;

    return batch * k / (c->fixed_s + c->sample_s * batch + comm);
}

static void make_rows(struct alloc_row *rows, struct alloc_option *options,
                      const struct bench_case *b, struct rng *rng)
{
    for (int32_t j = 0; j < b->jobs; j++) {
        const struct job_class *c = &classes[rng_below(rng, ARRAY_SIZE(classes))];
        double scale = b->kind == ALIKE ? 1.0 : 0.5 + rng_double(rng);
        struct alloc_option *o = options + (size_t)j * SIZES_MAX;
        int32_t n = b->kind == ALIKE ? b->sizes : (int32_t)rng_between(rng, 1, b->sizes);

        for (int32_t k = 1; k <= n; k++) {
            double value = 1e6 * rate(c, k, scale) / rate(c, 1, scale);

            o[k - 1] = (struct alloc_option){k, (int64_t)(value + 0.5)};
            if (b->kind == HARD)
                o[k - 1].value = rng_between(rng, 0, 1000000) * k;
        }
        rows[j] = (struct alloc_row){.options = o, .n_options = n};
    }
}

/* P(j, k) for one j and all k, as the paper has it. */
struct sums {
    int64_t *value;
    bool *is_feasible;
};

static void reference_row(const struct alloc_row *row, const struct sums *last,
                          const struct sums *next, uint16_t *choice, int32_t devices)
{
    for (int32_t k = 0; k <= devices; k++) {
        next->is_feasible[k] = false;
        for (int32_t i = 0; i < row->n_options && row->options[i].size <= k; i++) {
            int32_t before = k - row->options[i].size;
            int64_t sum = last->value[before] + row->options[i].value;

            if (!last->is_feasible[before] ||
                (next->is_feasible[k] && sum <= next->value[k]))
                continue;
            next->value[k] = sum;
            next->is_feasible[k] = true;
            choice[k] = (uint16_t)i;
        }
    }
}

/* All rows, all devices, all options, choices kept. Returns the best sum of values. */
static int64_t reference(const struct alloc_problem *p, const struct sums sums[2],
                         uint16_t *choice)
{
    for (int32_t k = 0; k <= p->devices; k++) {
        sums[0].value[k] = 0;
        sums[0].is_feasible[k] = true;
    }
    for (int32_t j = 0; j < p->n_rows; j++)
        reference_row(&p->rows[j], &sums[j % 2], &sums[(j + 1) % 2],
                      choice + (size_t)j * ((size_t)p->devices + 1), p->devices);
    return sums[p->n_rows % 2].value[p->devices];
}

static int64_t time_reference(const struct alloc_problem *p, int64_t value)
{
    size_t width = (size_t)p->devices + 1;
    uint16_t *choice = mem_new((size_t)p->n_rows * width, sizeof *choice);
    struct sums sums[2];
    int64_t best = INT64_MAX;

    for (int i = 0; i < 2; i++) {
        sums[i].value = mem_new(width, sizeof *sums[i].value);
        sums[i].is_feasible = mem_new(width, sizeof *sums[i].is_feasible);
        ASSERT(sums[i].value && sums[i].is_feasible);
    }
    ASSERT(choice);
    for (int run = 0; run < 5; run++) {
        int64_t start = now_ns();

        ASSERT(reference(p, sums, choice) == value);
        best = i64_min(best, now_ns() - start);
    }
    for (int i = 0; i < 2; i++) {
        mem_free(sums[i].value);
        mem_free(sums[i].is_feasible);
    }
    mem_free(choice);
    return best;
}

static int compare_times(const void *pa, const void *pb)
{
    const int64_t *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

/* The median time of a solve with warm scratch. */
static int64_t time_solve(const struct alloc_problem *p, int32_t *sizes,
                          struct alloc_result *result)
{
    struct alloc_scratch scratch;
    int64_t times[RUNS_MAX];
    int64_t begin = now_ns();
    int n = 0;

    alloc_scratch_init(&scratch);
    ASSERT(alloc_solve(p, &scratch, sizes, result) == 0);
    do {
        int64_t start = now_ns();

        ASSERT(alloc_solve(p, &scratch, sizes, result) == 0);
        times[n++] = now_ns() - start;
    } while (n < RUNS_MAX && now_ns() - begin < BUDGET_NS);
    alloc_scratch_release(&scratch);
    qsort(times, (size_t)n, sizeof times[0], compare_times);
    return times[n / 2];
}

static const char *proof_name(enum alloc_proof proof)
{
    switch (proof) {
    case ALLOC_PROOF_NONE:
        return "none";
    case ALLOC_PROOF_SEARCH:
        return "search";
    case ALLOC_PROOF_LP:
        return "lp";
    }
    return "unknown";
}

static void print_figure(const struct bench_case *b, uint64_t seed, int64_t ns,
                         int64_t reference_ns, const struct alloc_result *result)
{
    (void)printf("{\"bench\": \"%s\", \"value\": %.3f, \"unit\": \"us\", \"better\": "
                 "\"less\", \"ns\": %" PRId64 ", \"jobs\": %d, \"devices\": %d, "
                 "\"proof\": \"%s\", \"seed\": %" PRIu64,
                 b->name, (double)ns / 1e3, ns, b->jobs, b->devices,
                 proof_name(result->proof), seed);
    if (reference_ns > 0)
        (void)printf(", \"reference_ns\": %" PRId64 ", \"ratio\": %.2f", reference_ns,
                     (double)reference_ns / (double)ns);
    (void)printf("}\n");
}

static void run_case(const struct bench_case *b, uint64_t seed)
{
    struct rng rng = rng_stream(seed, "rows");
    struct alloc_row *rows = mem_new((size_t)b->jobs, sizeof *rows);
    struct alloc_option *options = mem_new((size_t)b->jobs * SIZES_MAX, sizeof *options);
    int32_t *sizes = mem_new((size_t)b->jobs, sizeof *sizes);
    struct alloc_problem p = {rows, b->jobs, b->devices};
    struct alloc_result result;
    int64_t ns, reference_ns = 0;

    ASSERT(rows && options && sizes);
    make_rows(rows, options, b, &rng);
    ns = time_solve(&p, sizes, &result);
    if (b->kind == REPLAN) {
        for (int32_t j = 0; j < b->jobs; j++)
            rows[j].held = sizes[j];
        p.n_rows--;
        ns = time_solve(&p, sizes, &result);
    }
    if ((int64_t)b->jobs * b->devices <= REFERENCE_MAX_CELLS)
        reference_ns = time_reference(&p, result.value);
    print_figure(b, seed, ns, reference_ns, &result);
    mem_free(rows);
    mem_free(options);
    mem_free(sizes);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        run_case(&cases[i], seed);
    return 0;
}
