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
#include "cli/term.h"
#include "wire/reply.h"

static const struct table_column columns[] = {
    {"TIME", TABLE_LEFT, 0, 1},   {"GEN", TABLE_RIGHT, 0, 3},
    {"STATE", TABLE_LEFT, 0, 0},  {"GPUS", TABLE_RIGHT, 0, 0},
    {"BATCH", TABLE_RIGHT, 0, 2}, {"REASON", TABLE_LEFT, 16, 0},
};

#define STATE_COLUMN     2
#define WARM_UP_SHOWN_US USEC_PER_SEC /* less is not worth a line */
#define YEAR_WIDTH       72           /* narrower terminals do without the year */

#define VALUE_COLUMN 13

static void line(const char *key, const char *value)
{
    if (value[0] != '\0')
        say_field(key, VALUE_COLUMN, "%s", value);
}

/* What somebody may want to copy stays one line, however long. */
static void exact(const char *key, const char *value)
{
    if (!value || value[0] == '\0')
        return;
    printf("%-*s ", VALUE_COLUMN - 1, key);
    say_text(value);
    putchar('\n');
}

static void number(const char *key, int64_t value)
{
    if (value != 0)
        say_field(key, VALUE_COLUMN, "%lld", (long long)value);
}

static void print_asked(const struct reply_job *job)
{
    char span[SPAN_TEXT_MAX], factor[FORMAT_MAX];

    line("level", job->level);
    line("gpus", job->sizes);
    if (job->batch_min == job->batch_max)
        number("batch", job->batch_min);
    else
        say_field("batch", VALUE_COLUMN, "%lld..%lld", (long long)job->batch_min,
                  (long long)job->batch_max);
    number("base-batch", job->batch_base);
    number("gpu-batch", job->gpu_batch);
    line("accumulate", job->accumulate);
    line("lr-rule", job->lr_rule);
    line("profile", job->profile);
    if (job->grace_us > 0)
        line("grace", span_words(job->grace_us, span));
    if (job->time_limit_us > 0)
        line("time-limit", span_words(job->time_limit_us, span));
    if (job->weight_ppm != PPM && job->weight_ppm != 0)
        line("weight", format_factor(factor, job->weight_ppm));
    line("family", job->family);
    line("device-type", job->device_type);
    if (strcmp(job->launch, "rank") != 0)
        line("launch", job->launch);
    exact("command", job->command);
    exact("cwd", job->cwd);
    exact("output", job->log_dir);
    line("env", job->env ? job->env : "");
}

/* "4 gpus, batch 256: 1 pass of at most 64 samples on each"; without a batch only gpus.
 */
static void print_plan(const struct reply_job *job)
{
    char batch[160] = "";

    if (job->size > 0 && job->global_batch > 0)
        (void)snprintf(batch, sizeof batch,
                       ", batch %lld: %lld pass%s of at most %lld samples on each",
                       (long long)job->global_batch, (long long)job->accumulation,
                       job->accumulation == 1 ? "" : "es", (long long)job->micro_batch);
    if (job->size > 0)
        say_field("plan", VALUE_COLUMN, "%lld gpu%s%s, generation %lld",
                  (long long)job->size, job->size == 1 ? "" : "s", batch,
                  (long long)job->generation);
    batch[0] = '\0';
    if (job->next_global_batch > 0)
        (void)snprintf(batch, sizeof batch, ", batch %lld",
                       (long long)job->next_global_batch);
    if (job->next_size > 0)
        say_field("moving to", VALUE_COLUMN, "%lld gpu%s%s", (long long)job->next_size,
                  job->next_size == 1 ? "" : "s", batch);
    line("nodes", job->nodes);
    number("queue place", job->queue_place);
}

static void print_progress(const struct reply_job *job)
{
    char text[FORMAT_MAX], of[80] = "", again[40] = "";

    if (job->samples_total > 0)
        (void)snprintf(of, sizeof of, " of %lld (%s)", (long long)job->samples_total,
                       format_progress(text, job->samples_done, job->samples_total));
    if (job->samples_repeated > 0)
        (void)snprintf(again, sizeof again, ", %lld repeated",
                       (long long)job->samples_repeated);
    say_field("samples", VALUE_COLUMN, "%lld%s%s", (long long)job->samples_done, of,
              again);
    if (job->rate_milli > 0)
        line("rate", format_rate(text, job->rate_milli));
    if (job->warm_up_us >= WARM_UP_SHOWN_US)
        line("warm-up", format_ran(text, job->warm_up_us));
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
        say_field("exit code", VALUE_COLUMN, "%lld", (long long)job->exit_code);
    }
}

static void count(struct table *t, int64_t value)
{
    if (value > 0)
        table_cell(t, "%lld", (long long)value);
    else
        table_cell(t, "-");
}

static int print_history(const struct cli *cli, const struct reply_job *job)
{
    struct table t;
    char text[FORMAT_MAX];
    size_t cut = term_width() > 0 && term_width() < YEAR_WIDTH ? strlen("2026-") : 0;
    int exit;

    table_init(&t, columns, ARRAY_SIZE(columns));
    t.is_wrapped = true;
    for (size_t i = 0; i < job->n_history; i++) {
        const struct reply_move *m = &job->history[i];

        table_cell(&t, "%s", format_moment(text, m->time_us) + cut);
        table_cell(&t, "%lld", (long long)m->generation);
        table_cell(&t, "%s", m->state);
        count(&t, m->size);
        count(&t, m->global_batch);
        table_cell(&t, "%s", m->reason);
    }
    putchar('\n');
    exit = say_table(cli, &t, STATE_COLUMN);
    table_release(&t);
    return exit;
}

static int print_job(const struct cli *cli, const struct reply_job *job)
{
    say_line("job %lld %s: %s%s", (long long)job->id, job->name, job->state,
             job->is_unconfirmed ? " (unconfirmed since the daemon started)" : "");
    line("reason", job->reason);
    print_plan(job);
    print_progress(job);
    print_asked(job);
    return job->n_history > 0 ? print_history(cli, job) : CLI_OK;
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
    rc = say_job_id(cli, argv[args.first], &id);
    if (rc != 0)
        return rc;
    (void)snprintf(path, sizeof path, "/v1/jobs/%u", (unsigned)id);
    buf_init(&body, REPLY_MAX);
    rc = say_call(cli, "GET", path, NULL, &body, &err);
    if (rc == 0)
        rc = reply_job_decode(body.text, body.len, &job, &err);
    if (rc < 0)
        rc = cli_fail(cli, &err);
    else
        rc = cli->is_json ? say_json(cli, &body) : print_job(cli, &job);
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
