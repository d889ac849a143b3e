/* SPDX-License-Identifier: Apache-2.0 */
/* cli_bench.c - `elastane bench allocate`: how long the allocator takes on a problem of
 * one's own size, beside the recurrence of the seed paper and CBC, on the same rows and
 * in the same run. An answer that differs from theirs is a failure. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"
#include "cli/bench_rival.h"
#include "cli/cli.h"
#include "cli/say.h"
#include "cli/table.h"
#include "core/alloc/memo.h"
#include "core/alloc/sample.h"
#include "wire/allocfile.h"
#include "wire/jsonout.h"

#define OPT_JOBS     CLI_LONG
#define OPT_DEVICES  (CLI_LONG + 1)
#define OPT_MAX_SIZE (CLI_LONG + 2)
#define OPT_SEED     (CLI_LONG + 3)
#define OPT_SHAPE    (CLI_LONG + 4)
#define OPT_LIMIT    (CLI_LONG + 5)

#define ADVERSARIAL SAMPLE_GAPS /* of those kinds the one that takes longest */

#define EVENTS     40 /* for the time of a re-plan */
#define RUNS_MAX   25
#define RUNS_US    (2 * USEC_PER_SEC) /* no more runs begin after this */
#define ANSWER_MAX 4096

static const struct cli_option options[] = {
    {OPT_JOBS, "jobs", "J", "how many jobs (1000)"},
    {OPT_DEVICES, "devices", "K", "how many devices (4096)"},
    {OPT_MAX_SIZE, "max-size", "M", "the largest size of a job (64)"},
    {OPT_SEED, "seed", "S", "of the random rows (1)"},
    {OPT_SHAPE, "shape", "WORD",
     "concave, steps, noisy, gappy; adversarial, or one of its kinds: equal, correlated, "
     "gap, gaps, one-size, huge (concave)"},
    {OPT_LIMIT, "limit", "SECONDS",
     "when the others are stopped; 0: leave them out (60)"},
};

static const struct table_column columns[] = {
    {"SOLVER", TABLE_LEFT, 0, 0},  {"TIME", TABLE_RIGHT, 0, 0},
    {"WORST", TABLE_RIGHT, 0, 2},  {"VALUE", TABLE_RIGHT, 0, 0},
    {"RESULT", TABLE_LEFT, 12, 0},
};

struct bench {
    int64_t jobs, devices, max_size, seed, limit_s;
    enum sample_shape shape;
    struct alloc_problem problem;
    struct alloc_row *rows; /* of the problem */
    struct alloc_option *options;
    int64_t n_options;
    int32_t *sizes; /* room for one row more */
    struct alloc_result result;
    int64_t times_us[RUNS_MAX]; /* ascending, once all are made */
    int n_runs;
    int64_t replan_us; /* median */
    struct bench_rival recurrence, cbc;
};

static int time_cmp(const void *pa, const void *pb)
{
    const int64_t *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

/* Where the least sizes do not fit together, all jobs may wait. */
static int make(struct bench *b)
{
    struct rng rng = rng_stream((uint64_t)b->seed, sample_shape_name(b->shape));
    size_t n = (size_t)b->jobs;

    b->rows = mem_new(n, sizeof *b->rows);
    b->options = mem_new(n * (size_t)b->max_size, sizeof *b->options);
    b->sizes = mem_new(n + 1, sizeof *b->sizes);
    if (!b->rows || !b->options || !b->sizes)
        return E_NOMEM;
    sample_fill(&rng, b->shape, (int32_t)b->jobs, (int32_t)b->max_size, b->rows,
                b->options);
    b->problem = (struct alloc_problem){b->rows, (int32_t)b->jobs, (int32_t)b->devices};
    for (size_t j = 0; j < n; j++)
        b->n_options += b->rows[j].n_options;
    if (alloc_shortage(&b->problem) > 0)
        for (size_t j = 0; j < n; j++)
            b->rows[j].may_wait = true;
    return 0;
}

static void release(struct bench *b)
{
    mem_free(b->rows);
    mem_free(b->options);
    mem_free(b->sizes);
}

/* From rows in memory; nothing but the scratch is kept from one run to the next. */
static int time_solver(struct bench *b)
{
    usec_t begin_us = bench_now_us();
    struct alloc_scratch scratch;
    int rc;

    alloc_scratch_init(&scratch);
    rc = alloc_solve(&b->problem, &scratch, b->sizes, &b->result);
    while (rc == 0 && b->n_runs < RUNS_MAX &&
           (b->n_runs == 0 || bench_now_us() - begin_us < RUNS_US)) {
        int64_t start_us = bench_now_us();

        rc = alloc_solve(&b->problem, &scratch, b->sizes, &b->result);
        b->times_us[b->n_runs++] = bench_now_us() - start_us;
    }
    alloc_scratch_release(&scratch);
    qsort(b->times_us, (size_t)b->n_runs, sizeof b->times_us[0], time_cmp);
    return rc;
}

/* A job leaves and another one comes, by turns. */
static int replan(struct bench *b, struct alloc_memo *memo)
{
    struct rng rng = rng_stream((uint64_t)b->seed, "events");
    int64_t times_us[EVENTS];
    struct alloc_result result;
    int rc = 0;

    for (int32_t j = 0; rc == 0 && j < b->problem.n_rows; j++)
        rc = alloc_memo_insert(memo, j, &b->rows[j]);
    alloc_memo_set_devices(memo, b->problem.devices);
    if (rc == 0)
        rc = alloc_memo_solve(memo, b->sizes, &result);
    for (int i = 0; rc == 0 && i < EVENTS; i++) {
        int32_t at = (int32_t)rng_below(&rng, (uint64_t)b->jobs);
        int64_t start_us = bench_now_us();

        if (i % 2 == 0)
            alloc_memo_remove(memo, at);
        else
            rc =
                alloc_memo_insert(memo, i32_min(at, b->problem.n_rows - 1), &b->rows[at]);
        if (rc == 0)
            rc = alloc_memo_solve(memo, b->sizes, &result);
        times_us[i] = bench_now_us() - start_us;
    }
    if (rc == 0) {
        qsort(times_us, EVENTS, sizeof times_us[0], time_cmp);
        b->replan_us = times_us[EVENTS / 2];
    }
    return rc == E_INFEASIBLE ? 0 : rc; /* a large job came for a small one */
}

static int time_replan(struct bench *b)
{
    struct alloc_memo *memo = alloc_memo_new();
    int rc = memo ? replan(b, memo) : E_NOMEM;

    alloc_memo_free(memo);
    return rc;
}

static void put_rival(struct jsonout *j, const char *name, const struct bench_rival *r)
{
    jsonout_open(j, name, '{');
    if (r->has_run) {
        jsonout_bool(j, "exact", r->is_exact);
        jsonout_i64(j, "time_us", r->took_us);
        jsonout_i64(j, "value", r->value);
    } else {
        jsonout_text(j, "skipped", r->why);
    }
    jsonout_close(j, '}');
}

static void put_json(const struct bench *b, struct buf *out)
{
    struct jsonout j = {.out = out};

    jsonout_open(&j, NULL, '{');
    jsonout_text(&j, "bench", "allocate");
    put_rival(&j, "cbc", &b->cbc);
    jsonout_i64(&j, "devices", b->devices);
    jsonout_i64(&j, "jobs", b->jobs);
    jsonout_i64(&j, "max_size", b->max_size);
    jsonout_i64(&j, "options", b->n_options);
    put_rival(&j, "recurrence", &b->recurrence);
    jsonout_i64(&j, "seed", b->seed);
    jsonout_text(&j, "shape", sample_shape_name(b->shape));
    jsonout_open(&j, "solver", '{');
    jsonout_i64(&j, "bound", b->result.bound);
    jsonout_bool(&j, "certified", b->result.is_certified);
    jsonout_i64(&j, "median_us", b->times_us[b->n_runs / 2]);
    jsonout_i64(&j, "objective", b->result.objective);
    jsonout_text(&j, "proof", alloc_proof_name(b->result.proof));
    jsonout_i64(&j, "replan_us", b->replan_us);
    jsonout_i64(&j, "runs", b->n_runs);
    jsonout_i64(&j, "value", b->result.value);
    jsonout_i64(&j, "worst_us", b->times_us[b->n_runs - 1]);
    jsonout_close(&j, '}');
    jsonout_close(&j, '}');
    buf_putc(out, '\n');
}

static void put_time(struct table *t, int64_t us)
{
    if (us < 10 * USEC_PER_SEC)
        table_cell(t, "%" PRId64 ".%03" PRId64 " ms", us / 1000, us % 1000);
    else
        table_cell(t, "%" PRId64 ".%" PRId64 " s", us / USEC_PER_SEC,
                   us % USEC_PER_SEC / 100000);
}

static void put_rival_row(struct table *t, const char *name, const struct bench_rival *r,
                          int64_t ours_us)
{
    char text[ALLOCFILE_VALUE_BYTES];

    table_cell(t, "%s", name);
    if (!r->has_run) {
        table_cell(t, "-");
        table_cell(t, "-");
        table_cell(t, "-");
        table_cell(t, "%s", r->why);
        return;
    }
    put_time(t, r->took_us);
    table_cell(t, "-");
    table_cell(t, "%s", allocfile_value(text, r->value));
    table_cell(t, "%s, %" PRId64 " times as long", r->is_exact ? "exact" : "stopped",
               r->took_us / i64_max(1, ours_us));
}

static int print_json(const struct bench *b)
{
    struct buf out;

    buf_init(&out, ANSWER_MAX);
    put_json(b, &out);
    (void)fwrite(out.text, 1, out.len, stdout);
    buf_release(&out);
    return CLI_OK;
}

static int print_table(const struct cli *cli, const struct bench *b)
{
    int64_t median_us = b->times_us[b->n_runs / 2];
    char text[ALLOCFILE_VALUE_BYTES];
    struct table t;
    int exit;

    say_line("%" PRId64 " jobs, %" PRId64 " devices, sizes up to %" PRId64
             ", %s, seed %" PRId64 ": %" PRId64 " options",
             b->jobs, b->devices, b->max_size, sample_shape_name(b->shape), b->seed,
             b->n_options);
    table_init(&t, columns, ARRAY_SIZE(columns));
    table_cell(&t, "elastane");
    put_time(&t, median_us);
    put_time(&t, b->times_us[b->n_runs - 1]);
    table_cell(&t, "%s", allocfile_value(text, b->result.value));
    table_cell(&t, "%s (%s), median of %d", b->result.is_certified ? "certified" : "open",
               alloc_proof_name(b->result.proof), b->n_runs);
    table_cell(&t, "after one event");
    put_time(&t, b->replan_us);
    table_cell(&t, "-");
    table_cell(&t, "-");
    table_cell(&t, "a job leaves or comes, median of %d", EVENTS);
    if (b->limit_s > 0) {
        put_rival_row(&t, "recurrence", &b->recurrence, median_us);
        put_rival_row(&t, "cbc", &b->cbc, median_us);
    }
    exit = say_table(cli, &t, -1);
    table_release(&t);
    return exit;
}

/* Whoever claims to be exact must agree. */
static int compare(const struct bench *b, const struct alloc_problem *p, struct err *err)
{
    const struct bench_rival *rivals[] = {&b->recurrence, &b->cbc};
    struct allocfile f = {.problem = *p};
    int64_t most = allocfile_bound(&f, &b->result);

    for (size_t i = 0; i < ARRAY_SIZE(rivals); i++) {
        const struct bench_rival *r = rivals[i];
        bool is_below = r->has_run && r->is_exact && r->value < b->result.value;

        if (r->has_run && (r->value > most || is_below))
            return err_set(
                err, E_CORRUPT,
                "%s found a value of %" PRId64 ", we %" PRId64 " and at most %" PRId64,
                i == 0 ? "the recurrence" : "cbc", r->value, b->result.value, most);
    }
    return 0;
}

/* The rivals get the same rows. E_CORRUPT when they disagree with us. */
static int time_all(struct bench *b, struct err *err)
{
    int rc = make(b);

    if (rc == 0)
        rc = time_solver(b);
    if (rc == 0)
        rc = time_replan(b);
    if (rc < 0)
        return err_set(err, rc, "out of memory");
    if (b->limit_s > 0) {
        bench_recurrence(&b->problem, b->limit_s * USEC_PER_SEC, &b->recurrence);
        bench_cbc(&b->problem, b->limit_s * USEC_PER_SEC, &b->cbc);
    }
    return compare(b, &b->problem, err);
}

static int bench(const struct cli *cli, struct bench *b)
{
    struct err err = {0};
    int exit = CLI_OK;
    int rc = time_all(b, &err);

    if (rc == 0)
        exit = cli->is_json ? print_json(b) : print_table(cli, b);
    release(b);
    return rc < 0 ? cli_fail(cli, &err) : exit;
}

static int shape_of(const char *word, enum sample_shape *ret, struct err *err)
{
    if (strcmp(word, "adversarial") == 0)
        word = sample_shape_name(ADVERSARIAL);
    for (int i = 0; i < SAMPLE_SHAPE_MAX; i++)
        if (strcmp(word, sample_shape_name((enum sample_shape)i)) == 0) {
            *ret = (enum sample_shape)i;
            return 0;
        }
    return err_field(err, E_INVALID, "shape",
                     "is '%.40s'; give concave, steps, noisy, gappy or adversarial",
                     word);
}

static int take(struct bench *b, int id, const char *value, struct err *err)
{
    const struct {
        int id;
        const char *field;
        int64_t min, max;
        int64_t *to;
    } numbers[] = {
        {OPT_JOBS, "jobs", 1, JOBS_MAX, &b->jobs},
        {OPT_DEVICES, "devices", 1, DEVICES_MAX, &b->devices},
        {OPT_MAX_SIZE, "max-size", 1, SIZE_MAX_DEVICES, &b->max_size},
        {OPT_SEED, "seed", 0, INT64_MAX, &b->seed},
        {OPT_LIMIT, "limit", 0, 3600, &b->limit_s},
    };

    if (id == OPT_SHAPE)
        return shape_of(value, &b->shape, err);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if (numbers[i].id == id) {
            int rc =
                cli_number(value, numbers[i].min, numbers[i].max, numbers[i].to, err);

            if (rc < 0)
                (void)snprintf(err->field, sizeof err->field, "%s", numbers[i].field);
            return rc;
        }
    return 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct bench b = {
        .jobs = 1000,
        .devices = 4096,
        .max_size = 64,
        .seed = 1,
        .limit_s = 60,
        .recurrence = {.why = "left out"},
        .cbc = {.why = "left out"},
    };
    struct err err = {0};
    struct cli_args args;
    int id;

    cli_args_init(&args, cli, &cli_bench, argc, argv);
    args.is_mixed = true;
    while ((id = cli_args_next(&args)) > 0)
        if (take(&b, id, args.value, &err) < 0)
            return cli_fail(cli, &err);
    if (id == CLI_ARGS_DONE)
        return args.exit;
    if (argc - args.first != 1 || strcmp(argv[args.first], "allocate") != 0)
        return cli_usage(cli, "say what is to be timed: allocate");
    return bench(cli, &b);
}

const struct cli_command cli_bench = {
    .name = "bench",
    .usage = "allocate [OPTION]...",
    .summary = "time the allocator on random jobs, beside others that solve the same",
    .no_daemon = true,
    .details = "Others are the recurrence of the paper and, where it is installed, the "
               "program cbc.",
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .run = run,
};
