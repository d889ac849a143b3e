/* SPDX-License-Identifier: Apache-2.0 */
/* cli_wait.c - until a job has ended, by long polls; the exit code tells how it ended.
 *
 * A daemon that restarts meanwhile is not the end of the wait: once it has answered,
 * silence is borne for PATIENCE_S before we give up. */
#include <stdio.h>
#include <time.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/final.h"
#include "cli/say.h"
#include "wire/quantity.h"
#include "wire/reply.h"

#define PATIENCE_S 60
#define RETRY_MS   500

static const struct cli_option options[] = {
    {'t', "timeout", "SPAN", "give up after this span, such as 10m"},
};

struct waiter {
    const struct cli *cli;
    uint32_t job;
    usec_t until_us; /* of the boot clock; USEC_NEVER */
    struct buf body;
    struct reply_job reply;
};

static usec_t now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_BOOTTIME, &t);
    return (usec_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

static int ask(struct waiter *w, struct err *err)
{
    struct client *client = NULL;
    usec_t left_us = w->until_us - now();
    long long wait_s = CLIENT_WAIT_S;
    char path[96];
    int rc;

    if (w->until_us != USEC_NEVER && left_us < CLIENT_WAIT_S * USEC_PER_SEC)
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

static int wait_for(struct waiter *w)
{
    const struct timespec gap = {.tv_nsec = RETRY_MS * 1000000L};
    usec_t heard_us = 0; /* when an answer came last; 0: never */

    for (;;) {
        struct err err = {0};
        usec_t asked_us = now();
        int rc = ask(w, &err);
        enum job_state state = rc == 0 ? final_state(w->reply.state) : JOB_STATE_MAX;

        if (rc == 0 || err.code == E_AGAIN) /* "stopping" is an answer too */
            heard_us = now();
        if (rc < 0 && (heard_us == 0 || (err.code != E_IO && err.code != E_AGAIN) ||
                       now() - heard_us > PATIENCE_S * USEC_PER_SEC))
            return cli_fail(w->cli, &err);
        if (rc == 0 && state != JOB_STATE_MAX && job_state_is_final(state))
            return finish(w, state);
        if (now() >= w->until_us) {
            (void)err_set(&err, E_AGAIN, "job %u has not ended", (unsigned)w->job);
            return cli_fail_with(w->cli, CLI_WAIT_TIMEOUT, &err);
        }
        if (now() - asked_us < RETRY_MS * USEC_PER_MSEC)
            (void)nanosleep(&gap, NULL);
    }
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct waiter w = {.cli = cli, .until_us = USEC_NEVER};
    struct cli_args args;
    struct err err = {0};
    int id, rc;

    cli_args_init(&args, cli, &cli_wait, argc, argv);
    args.is_mixed = true;
    while ((id = cli_args_next(&args)) > 0) {
        usec_t span = 0;

        if (quantity_span(args.value, &span, &err) < 0)
            return cli_usage(cli, "--timeout: %s", err.text);
        w.until_us = span < USEC_NEVER - now() ? now() + span : USEC_NEVER;
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
