/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_bench.c - how long an allocation takes, from rows in memory, nothing cached.
 *
 * Problems are those of sample.h, in sizes from a rack to a data centre. The same one
 * also goes through the recurrence as the paper has it (choices kept, infeasible as a
 * state) where that is done in reasonable time: `ratio` says how many times longer it
 * takes in the same run, and moves less from machine to machine than nanoseconds do.
 * `replan` is the median over events of one row changed, added or removed, or some
 * devices more or less, each through memo.h.
 *
 * One JSON line for each figure. Usage: alloc_bench [seed] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"
#include "core/alloc/alloc.h"
#include "core/alloc/memo.h"
#include "core/alloc/sample.h"

#define RUNS_MAX            50
#define EVENTS              200
#define BUDGET_NS           INT64_C(500000000) /* for the runs of one figure */
#define REFERENCE_MAX_CELLS INT64_C(20000000)
#define REFERENCE_ONE_CELLS INT64_C(200000000) /* of one shape only, and once */

static const struct bench_case {
    int32_t jobs, devices, sizes;
} cases[] = {
    {10000, 100000, 256}, /* the figure of memory is taken after this one */
    {100, 400, 16},
    {1000, 4096, 64},
    {10000, 16384, 64},
};

static int64_t now_ns(void)
{
    struct timespec t;

    (void)timespec_get(&t, TIME_UTC);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
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
        next->is_feasible[k] = row->may_wait && last->is_feasible[k];
        next->value[k] = last->value[k];
        choice[k] = UINT16_MAX;
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

static int64_t time_reference(const struct alloc_problem *p, int64_t value, int runs)
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
    for (int run = 0; run < runs; run++) {
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

struct figure {
    const char *kind; /* of the name; "" for a solve */
    int64_t ns, worst_ns, reference_ns;
};

/* Median and worst time of a solve with warm scratch. */
static struct figure time_solve(const struct alloc_problem *p, int32_t *sizes,
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
    return (struct figure){"", times[n / 2], times[n - 1], 0};
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

static void print_figure(const struct bench_case *b, enum sample_shape shape,
                         const struct figure *f, const struct alloc_result *result)
{
    (void)printf("{\"bench\": \"alloc_%dx%d_%s%s\", \"value\": %.3f, \"unit\": "
                 "\"us\", \"better\": \"less\", \"ns\": %" PRId64
                 ", \"worst_ns\": %" PRId64
                 ", \"jobs\": %d, \"devices\": %d, \"max_size\": %d, "
                 "\"certified\": %s, \"proof\": \"%s\", \"gap_ppm\": %.3f",
                 b->jobs, b->devices, sample_shape_name(shape), f->kind,
                 (double)f->ns / 1e3, f->ns, f->worst_ns, b->jobs, b->devices, b->sizes,
                 result->is_certified ? "true" : "false", proof_name(result->proof),
                 (double)(result->bound - result->objective) * 1e6 /
                     (double)i64_max(1, result->objective));
    if (f->reference_ns > 0)
        (void)printf(", \"reference_ns\": %" PRId64 ", \"ratio\": %.2f", f->reference_ns,
                     (double)f->reference_ns / (double)f->ns);
    (void)printf("}\n");
}

struct bench {
    const struct bench_case *size;
    struct rng rng;
    struct alloc_row *rows;
    struct alloc_option *options;
    int32_t *sizes; /* room for one row more */
};

/* One event: by turns a row with other values, one less, that one again, other devices.
 */
static void happen(struct bench *b, struct alloc_memo *memo, int event)
{
    int32_t at = (int32_t)rng_below(&b->rng, (uint64_t)b->size->jobs - 1);
    struct alloc_row row;

    switch (event % 4) {
    case 0:
        row = b->rows[at];
        row.options += row.n_options > 1;
        row.n_options -= row.n_options > 1;
        alloc_memo_replace(memo, at, &row);
        break;
    case 1:
        alloc_memo_remove(memo, at);
        break;
    case 2:
        row = b->rows[at];
        ASSERT(alloc_memo_insert(memo, at, &row) == 0);
        break;
    default:
        alloc_memo_set_devices(memo, b->size->devices - (int32_t)rng_below(&b->rng, 65));
    }
}

static struct figure time_replan(struct bench *b, struct alloc_result *result)
{
    struct alloc_memo *memo = alloc_memo_new();
    static int64_t times[EVENTS];

    ASSERT(memo);
    for (int32_t j = 0; j < b->size->jobs; j++)
        ASSERT(alloc_memo_insert(memo, j, &b->rows[j]) == 0);
    alloc_memo_set_devices(memo, b->size->devices);
    ASSERT(alloc_memo_solve(memo, b->sizes, result) == 0);
    for (int i = 0; i < EVENTS; i++) {
        int64_t start = now_ns();

        happen(b, memo, i);
        ASSERT(alloc_memo_solve(memo, b->sizes, result) == 0);
        times[i] = now_ns() - start;
    }
    alloc_memo_free(memo);
    qsort(times, EVENTS, sizeof times[0], compare_times);
    return (struct figure){"_replan", times[EVENTS / 2], times[EVENTS - 1], 0};
}

static void run_shape(struct bench *b, enum sample_shape shape)
{
    bool is_gap = shape == SAMPLE_GAP || shape == SAMPLE_GAPS; /* fits no odd number */
    const struct alloc_problem p = {b->rows, b->size->jobs, b->size->devices - is_gap};
    int64_t cells = (int64_t)b->size->jobs * b->size->devices;
    struct alloc_result result;
    struct figure f;

    sample_fill(&b->rng, shape, b->size->jobs, b->size->sizes, b->rows, b->options);
    if (alloc_shortage(&p) > 0)
        return;
    f = time_solve(&p, b->sizes, &result);
    if (cells <= REFERENCE_MAX_CELLS)
        f.reference_ns = time_reference(&p, result.value, 2);
    else if (cells <= REFERENCE_ONE_CELLS && shape == SAMPLE_NOISY)
        f.reference_ns = time_reference(&p, result.value, 1);
    print_figure(b->size, shape, &f, &result);
    if (shape <= SAMPLE_GAPPY) {
        f = time_replan(b, &result);
        print_figure(b->size, shape, &f, &result);
    }
}

static void run_case(const struct bench_case *size, uint64_t seed)
{
    struct bench b = {.size = size, .rng = rng_stream(seed, "rows")};
    size_t n = (size_t)size->jobs;

    b.rows = mem_new(n, sizeof *b.rows);
    b.options = mem_new(n * (size_t)size->sizes, sizeof *b.options);
    b.sizes = mem_new(n + 1, sizeof *b.sizes);
    ASSERT(b.rows && b.options && b.sizes);
    for (int shape = 0; shape < SAMPLE_SHAPE_MAX; shape++)
        run_shape(&b, (enum sample_shape)shape);
    mem_free(b.rows);
    mem_free(b.options);
    mem_free(b.sizes);
}

static void print_memory(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf("{\"bench\": \"alloc_memory\", \"value\": %.1f, \"unit\": \"MB\", "
                 "\"better\": \"less\"}\n",
                 (double)usage.ru_maxrss / 1e3);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        run_case(&cases[i], seed);
        if (i == 0)
            print_memory();
    }
    return 0;
}
