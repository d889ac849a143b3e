/* SPDX-License-Identifier: Apache-2.0 */
/* cli_logs.c - what a rank wrote.
 *
 * Following is a row of streams, each from the byte where the one before ended
 * (docs/api.md). When a stream brings nothing, the job is asked for: if it had ended
 * before, what is left is read once more, so the last line is never lost. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/final.h"
#include "cli/say.h"
#include "core/limits.h"
#include "wire/reply.h"

#define QUIET_GAP_MS 500 /* between two streams that brought nothing */

static const struct cli_option options[] = {
    {'f', "follow", NULL, "go on as the log grows, until the job ends"},
    {'r', "rank", "R", "whose log (default 0)"},
};

struct follower {
    struct client *client;
    uint32_t job;
    int64_t rank;
    int64_t offset;
};

static int write_out(void *arg, const char *bytes, size_t n)
{
    struct follower *f = arg;

    if (fwrite(bytes, 1, n, stdout) != n || fflush(stdout) != 0)
        return E_STATE;
    f->offset += (int64_t)n;
    return 0;
}

static int read_once(struct follower *f, const char *follow, struct err *err)
{
    char path[160];
    int rc;

    (void)snprintf(path, sizeof path,
                   "/v1/jobs/%" PRIu32 "/logs?rank=%" PRId64 "&offset=%" PRId64 "%s",
                   f->job, f->rank, f->offset, follow);
    rc = client_stream(f->client, path, write_out, f, err);
    if (rc == E_STATE && (ferror(stdout) || errno == EPIPE))
        (void)err_set(err, E_STATE, "cannot write to standard output");
    return rc;
}

static int follow(struct follower *f, struct err *err)
{
    const struct timespec gap = {.tv_nsec = QUIET_GAP_MS * 1000000L};

    for (;;) {
        int64_t before = f->offset;
        enum job_state state;
        int rc = read_once(f, "&follow=1", err);

        if (rc < 0)
            return rc;
        if (f->offset > before)
            continue;
        rc = final_ask(f->client, f->job, &state, err);
        if (rc < 0)
            return rc;
        if (job_state_is_final(state))
            return read_once(f, "", err);
        (void)nanosleep(&gap, NULL);
    }
}

static int logs(const struct cli *cli, struct follower *f, const char *mode)
{
    struct err err = {0};
    int rc = client_open(cli, &f->client, &err);

    if (rc == 0)
        rc = mode[0] ? follow(f, &err) : read_once(f, "", &err);
    client_close(f->client);
    if (rc < 0)
        return cli_fail(&err);
    if (f->offset == 0)
        fprintf(stderr, "elastane: rank %" PRId64 " of job %" PRIu32 " wrote nothing%s\n",
                f->rank, f->job, mode[0] ? "" : " so far");
    return CLI_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct follower f = {0};
    struct cli_args args;
    struct err err = {0};
    const char *mode = "";
    int id, rc;

    cli_args_init(&args, cli, &cli_logs, argc, argv);
    args.is_mixed = true;
    while ((id = cli_args_next(&args)) > 0) {
        if (id == 'f')
            mode = "follow";
        else if (cli_number(args.value, 0, SIZE_MAX_DEVICES - 1, &f.rank, &err) < 0)
            return cli_usage(&cli_logs, "--rank: %s", err.text);
    }
    if (id == CLI_ARGS_DONE)
        return args.exit;
    if (argc - args.first != 1)
        return cli_usage(&cli_logs, "give the id of one job");
    if (cli->is_json)
        return cli_usage(&cli_logs, "a log is text; --json has no meaning here");
    rc = say_job_id(&cli_logs, argv[args.first], &f.job);
    return rc != 0 ? rc : logs(cli, &f, mode);
}

const struct cli_command cli_logs = {
    .name = "logs",
    .usage = "[OPTION]... ID",
    .summary = "print what a rank wrote",
    .no_json = true,
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .run = run,
};
