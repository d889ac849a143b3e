/* SPDX-License-Identifier: Apache-2.0 */
/* cli_wait.c - until a job has ended, by long polls; the exit code tells how it ended.
 *
 * The first question waits for nothing: its answer shows that there is a daemon and such
 * a job, and from then on a daemon that goes away is waited for (patience.h). */
#include <stdio.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/final.h"
#include "cli/patience.h"
#include "cli/say.h"
#include "wire/quantity.h"
#include "wire/reply.h"

static const struct cli_option options[] = {
    {'t', "timeout", "SPAN", "give up after this span, such as 10m"},
};

struct waiter {
    const struct cli *cli;
    uint32_t job;
    usec_t until_us; /* of the boot clock; USEC_NEVER */
    struct patience patience;
    struct buf body;
    struct reply_job reply;
};

static int ask(struct waiter *w, struct err *err)
{
    struct client *client = NULL;
    usec_t left_us = w->until_us - patience_now();
    long long wait_s = w->patience.is_heard ? CLIENT_WAIT_S : 0;
    char path[96];
    int rc;

    if (w->until_us != USEC_NEVER && left_us < wait_s * USEC_PER_SEC)
        wait_s = left_us > 0 ? (long long)i64_div_up(left_us, USEC_PER_SEC) : 0;
    (void)snprintf(path, sizeof path, "/v1/jobs/%u/wait?timeout_s=%lld", (unsigned)w->job,
                   wait_s);
    rc = client_open(w->cli, &client, err);
    if (rc == 0)
        rc = client_wait(client, path, &w->body, err);
    client_close(client);
    reply_job_release(&w->reply);
    if (rc == 0)
        rc = reply_job_decode(w->body.text, w->body.len, &w->reply, err);
    return rc;
}

static int print(const struct waiter *w)
{
    if (w->cli->is_json)
        return say_json(w->cli, &w->body);
    say_line("job %lld %s: %s%s%s", (long long)w->reply.id, w->reply.name, w->reply.state,
             w->reply.reason[0] ? ": " : "", w->reply.reason);
    return CLI_OK;
}

static int finish(const struct waiter *w, enum job_state state)
{
    int exit = print(w);

    return exit != CLI_OK ? exit : final_exit(state);
}

static int give_up(const struct waiter *w)
{
    struct err err = {0};

    (void)err_set(&err, E_AGAIN, "job %u has not ended%s", (unsigned)w->job,
                  w->patience.lost_us > 0 ? " as far as is known: no daemon answers"
                                          : "");
    return cli_fail_with(w->cli, CLI_WAIT_TIMEOUT, &err);
}

static int wait_for(struct waiter *w)
{
    for (;;) {
        struct err err = {0};
        int rc = ask(w, &err);
        enum job_state state = rc == 0 ? final_state(w->reply.state) : JOB_STATE_MAX;

        if (rc == 0)
            patience_heard(&w->patience);
        else if (!patience_bears(&w->patience, &err))
            return cli_fail(w->cli, &err);
        if (rc == 0 && state != JOB_STATE_MAX && job_state_is_final(state))
            return finish(w, state);
        if (patience_now() >= w->until_us)
            return give_up(w);
    }
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct waiter w = {.cli = cli, .until_us = USEC_NEVER, .patience = {.cli = cli}};
    struct cli_args args;
    struct err err = {0};
    int id, rc;

    cli_args_init(&args, cli, &cli_wait, argc, argv);
    args.is_mixed = true;
    while ((id = cli_args_next(&args)) > 0) {
        usec_t span = 0;

        if (quantity_span(args.value, &span, &err) < 0)
            return cli_usage(cli, "--timeout: %s", err.text);
        w.until_us =
            span < USEC_NEVER - patience_now() ? patience_now() + span : USEC_NEVER;
    }
    if (id == CLI_ARGS_DONE)
        return args.exit;
    if (argc - args.first != 1)
        return cli_usage(cli, "give the id of one job");
    rc = say_job_id(cli, argv[args.first], &w.job);
    if (rc != 0)
        return rc;
    buf_init(&w.body, REPLY_MAX);
    rc = wait_for(&w);
    reply_job_release(&w.reply);
    buf_release(&w.body);
    return rc;
}

const struct cli_command cli_wait = {
    .name = "wait",
    .usage = "[OPTION]... ID",
    .summary = "wait until a job has ended",
    .details = "Exit code: 0 done, 10 failed, 11 cancelled, 12 dropped, 13 timeout.",
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .run = run,
};
