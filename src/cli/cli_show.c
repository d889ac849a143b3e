/* SPDX-License-Identifier: Apache-2.0 */
/* cli_show.c - all there is to know about one job, and how it came about. */
#include <stdio.h>
#include <string.h>

#include "base/span.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/say.h"
#include "cli/table.h"
#include "wire/reply.h"

static const struct table_column columns[] = {
    {"TIME", TABLE_LEFT, false},   {"GEN", TABLE_RIGHT, false},
    {"STATE", TABLE_LEFT, false},  {"GPUS", TABLE_RIGHT, false},
    {"BATCH", TABLE_RIGHT, false}, {"REASON", TABLE_LEFT, true},
};

#define STATE_COLUMN 2

static void line(const char *key, const char *value)
{
    if (value[0] == '\0')
        return;
    printf("%-12s ", key);
    say_text(value);
    putchar('\n');
}

static void number(const char *key, int64_t value)
{
    if (value != 0)
        printf("%-12s %lld\n", key, (long long)value);
}

static void print_asked(const struct reply_job *job)
{
    char span[SPAN_TEXT_MAX], factor[FORMAT_MAX];

    line("level", job->level);
    line("gpus", job->sizes);
    if (job->batch_min == job->batch_max)
        number("batch", job->batch_min);
    else
        printf("%-12s %lld..%lld\n", "batch", (long long)job->batch_min,
               (long long)job->batch_max);
    number("base-batch", job->batch_base);
    number("gpu-batch", job->gpu_batch);
    line("accumulate", job->accumulate);
    line("lr-rule", job->lr_rule);
    if (job->grace_us > 0)
        line("grace", span_words(job->grace_us, span));
    if (job->time_limit_us > 0)
        line("time-limit", span_words(job->time_limit_us, span));
    if (job->weight_ppm != PPM && job->weight_ppm != 0)
        line("weight", format_factor(factor, job->weight_ppm));
    line("family", job->family);
    line("device-type", job->device_type);
    line("command", job->command);
    line("cwd", job->cwd);
    line("output", job->log_dir);
}

/* "4 gpus, batch 256: 1 pass of at most 64 samples on each"; without a batch only gpus.
 */
static void print_plan(const struct reply_job *job)
{
    if (job->size > 0) {
        printf("%-12s %lld gpu%s", "plan", (long long)job->size,
               job->size == 1 ? "" : "s");
        if (job->global_batch > 0)
            printf(", batch %lld: %lld pass%s of at most %lld samples on each",
                   (long long)job->global_batch, (long long)job->accumulation,
                   job->accumulation == 1 ? "" : "es", (long long)job->micro_batch);
        printf(", generation %lld\n", (long long)job->generation);
    }
    if (job->next_size > 0) {
        printf("%-12s %lld gpu%s", "moving to", (long long)job->next_size,
               job->next_size == 1 ? "" : "s");
        if (job->next_global_batch > 0)
            printf(", batch %lld", (long long)job->next_global_batch);
        printf("\n");
    }
    line("nodes", job->nodes);
    number("queue place", job->queue_place);
}

static void print_progress(const struct reply_job *job)
{
    char text[FORMAT_MAX];

    printf("%-12s %lld", "samples", (long long)job->samples_done);
    if (job->samples_total > 0)
        printf(" of %lld (%s)", (long long)job->samples_total,
               format_progress(text, job->samples_done, job->samples_total));
    if (job->samples_repeated > 0)
        printf(", %lld repeated", (long long)job->samples_repeated);
    putchar('\n');
    if (job->rate_milli > 0)
        line("rate", format_rate(text, job->rate_milli));
    line("reports", job->note);
    line("model", job->model_source);
    line("submitted", format_moment(text, job->submit_us));
    if (job->start_us > 0)
        line("started", format_moment(text, job->start_us));
    if (job->end_us > 0)
        line("ended", format_moment(text, job->end_us));
    line("ran for", format_ran(text, job->active_us));
    number("resizes", job->resizes);
    number("retries left", job->retries_left);
    if (job->end_us > 0 && strcmp(job->cause, "none") != 0) {
        line("cause", job->cause);
        printf("%-12s %lld\n", "exit code", (long long)job->exit_code);
    }
}

static void count(struct table *t, int64_t value)
{
    if (value > 0)
        table_cell(t, "%lld", (long long)value);
    else
        table_cell(t, "-");
}

static int print_history(const struct reply_job *job)
{
    struct table t;
    char text[FORMAT_MAX];
    int exit;

    table_init(&t, columns, ARRAY_SIZE(columns));
    for (size_t i = 0; i < job->n_history; i++) {
        const struct reply_move *m = &job->history[i];

        table_cell(&t, "%s", format_moment(text, m->time_us));
        table_cell(&t, "%lld", (long long)m->generation);
        table_cell(&t, "%s", m->state);
        count(&t, m->size);
        count(&t, m->global_batch);
        table_cell(&t, "%s", m->reason);
    }
    putchar('\n');
    exit = say_table(&t, STATE_COLUMN);
    table_release(&t);
    return exit;
}

static int print_job(const struct reply_job *job)
{
    printf("job %lld ", (long long)job->id);
    say_text(job->name);
    printf(": %s%s\n", job->state,
           job->is_unconfirmed ? " (unconfirmed since the daemon started)" : "");
    line("reason", job->reason);
    print_plan(job);
    print_progress(job);
    print_asked(job);
    return job->n_history > 0 ? print_history(job) : CLI_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct reply_job job = {0};
    struct err err = {0};
    struct cli_args args;
    struct buf body;
    char path[64];
    uint32_t id;
    int rc;

    cli_args_init(&args, cli, &cli_show, argc, argv);
    if (cli_args_plain(&args, 1, 1) == CLI_ARGS_DONE)
        return args.exit;
    rc = say_job_id(&cli_show, argv[args.first], &id);
    if (rc != 0)
        return rc;
    (void)snprintf(path, sizeof path, "/v1/jobs/%u", (unsigned)id);
    buf_init(&body, REPLY_MAX);
    rc = say_call(cli, "GET", path, NULL, &body, &err);
    if (rc == 0)
        rc = reply_job_decode(body.text, body.len, &job, &err);
    if (rc < 0)
        rc = cli_fail(&err);
    else
        rc = cli->is_json ? say_json(&body) : print_job(&job);
    reply_job_release(&job);
    buf_release(&body);
    return rc;
}

const struct cli_command cli_show = {
    .name = "show",
    .usage = "[OPTION]... ID",
    .summary = "show one job and its history",
    .run = run,
};
