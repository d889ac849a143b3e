/* SPDX-License-Identifier: Apache-2.0 */
/* cli_list.c - the jobs, one a line, page by page until the daemon has no more. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/format.h"
#include "cli/say.h"
#include "cli/table.h"
#include "core/job.h"
#include "wire/reply.h"

static const struct cli_option options[] = {
    {'a', "all", NULL, "also the jobs that have ended"},
    {'s', "state", "STATE,...", "only jobs in these states, such as running,queued"},
};

static const struct table_column columns[] = {
    {"ID", TABLE_RIGHT, 0, 0},   {"NAME", TABLE_LEFT, 8, 0},
    {"STATE", TABLE_LEFT, 0, 0}, {"LEVEL", TABLE_LEFT, 0, 7},
    {"GPUS", TABLE_RIGHT, 0, 1}, {"BATCH", TABLE_RIGHT, 0, 4},
    {"DONE", TABLE_RIGHT, 0, 2}, {"RATE", TABLE_RIGHT, 0, 6},
    {"TIME", TABLE_RIGHT, 0, 5}, {"REASON", TABLE_LEFT, 20, 3},
};

#define STATE_COLUMN 2

struct filter {
    bool is_all;
    const char *states; /* NULL: any */
};

static bool is_state(const char *word, size_t n)
{
    for (unsigned i = 0; i < JOB_STATE_MAX; i++) {
        const char *name = job_state_name((enum job_state)i);

        if (strlen(name) == n && memcmp(name, word, n) == 0)
            return true;
    }
    return false;
}

/* Only known words go into the query, so nothing needs escaping. */
static bool are_states(const char *words)
{
    for (;;) {
        size_t n = strcspn(words, ",");

        if (!is_state(words, n))
            return false;
        if (words[n] == '\0')
            return true;
        words += n + 1;
    }
}

static void add_job(struct table *t, const struct reply_job *job)
{
    char progress[FORMAT_MAX], rate[FORMAT_MAX], ran[FORMAT_MAX];

    table_cell(t, "%lld", (long long)job->id);
    table_cell(t, "%s", job->name);
    table_cell(t, "%s", job->state);
    table_cell(t, "%s", job->level);
    if (job->next_size > 0 && job->next_size != job->size)
        table_cell(t, "%lld>%lld", (long long)job->size, (long long)job->next_size);
    else if (job->size > 0)
        table_cell(t, "%lld", (long long)job->size);
    else
        table_cell(t, "%s", job->sizes);
    if (job->global_batch > 0)
        table_cell(t, "%lld", (long long)job->global_batch);
    else
        table_cell(t, "-");
    table_cell(t, "%s", format_progress(progress, job->samples_done, job->samples_total));
    table_cell(t, "%s", format_rate(rate, job->rate_milli));
    table_cell(t, "%s", format_ran(ran, job->active_us));
    table_cell(t, "%s%s", job->reason, job->is_unconfirmed ? " (unconfirmed)" : "");
}

/* Fetches page after page; each is handed to the table or joined into one JSON array. */
static int fetch(struct client *client, const struct filter *filter, struct table *t,
                 struct buf *json, struct err *err)
{
    struct buf body;
    size_t n_json = 0;
    int64_t after = 0;
    int rc;

    buf_init(&body, REPLY_MAX);
    do {
        struct reply_jobs jobs = {0};
        char path[400];

        (void)snprintf(path, sizeof path, "/v1/jobs?after=%lld%s%s%s", (long long)after,
                       filter->is_all ? "&all=1" : "", filter->states ? "&state=" : "",
                       filter->states ? filter->states : "");
        rc = client_call(client, "GET", path, NULL, &body, err);
        if (rc == 0)
            rc = reply_jobs_decode(body.text, body.len, &jobs, err);
        if (rc == 0 && json)
            rc = reply_jobs_append(body.text, body.len, json, &n_json, err);
        for (size_t i = 0; rc == 0 && i < jobs.n; i++)
            add_job(t, &jobs.items[i]);
        if (rc == 0 && jobs.next > 0 && jobs.next <= after)
            rc = err_set(err, E_CORRUPT, "the daemon's list goes round in circles");
        after = jobs.next;
        reply_jobs_release(&jobs);
    } while (rc == 0 && after > 0);
    buf_release(&body);
    if (rc == 0 && json)
        buf_puts(json, n_json ? "]" : "[]");
    return rc;
}

static int list(struct cli *cli, const struct filter *filter)
{
    struct client *client = NULL;
    struct err err = {0};
    struct table t;
    struct buf json;
    int rc, exit;

    table_init(&t, columns, ARRAY_SIZE(columns));
    buf_init(&json, REPLY_MAX * 2);
    rc = client_open(cli, &client, &err);
    if (rc == 0)
        rc = fetch(client, filter, &t, cli->is_json ? &json : NULL, &err);
    client_close(client);
    if (rc < 0)
        exit = cli_fail(cli, &err);
    else if (cli->is_json)
        exit = printf("{\"jobs\":%s}\n", json.text) < 0 ? CLI_FAILED : CLI_OK;
    else
        exit = say_table(cli, &t, STATE_COLUMN);
    table_release(&t);
    buf_release(&json);
    return exit;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct filter filter = {0};
    struct cli_args args;
    int id;

    cli_args_init(&args, cli, &cli_list, argc, argv);
    while ((id = cli_args_next(&args)) > 0) {
        if (id == 'a')
            filter.is_all = true;
        else
            filter.states = args.value;
    }
    if (id == CLI_ARGS_DONE)
        return args.exit;
    if (args.first < argc)
        return cli_usage(cli, "too many operands");
    if (filter.states && (strlen(filter.states) > 200 || !are_states(filter.states)))
        return cli_usage(cli,
                         "--state: is '%.40s'; give one or more of queued, starting, "
                         "running, resizing, stopping, paused, done, failed, cancelled "
                         "and dropped, with commas",
                         filter.states);
    return list(cli, &filter);
}

const struct cli_command cli_list = {
    .name = "list",
    .usage = "[OPTION]...",
    .summary = "list the jobs",
    .details =
        "GPUS is what a job has, 2>4 while it moves, or what it asked for; DONE is "
        "the share of the samples, or their number when the job's length is not "
        "known; RATE is in samples per second; TIME is how long it ran.",
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .run = run,
};
