/* SPDX-License-Identifier: Apache-2.0 */
/* cli_explain.c - why a job has what it has, or waits. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/say.h"
#include "wire/reply.h"

static int run(struct cli *cli, int argc, char **argv)
{
    struct cli_args args;
    struct err err = {0};
    struct buf body;
    char *text = NULL;
    char path[64];
    uint32_t job;
    int rc;

    cli_args_init(&args, cli, &cli_explain, argc, argv);
    if (cli_args_plain(&args, 1, 1) == CLI_ARGS_DONE)
        return args.exit;
    rc = say_job_id(cli, argv[args.first], &job);
    if (rc != 0)
        return rc;
    (void)snprintf(path, sizeof path, "/v1/jobs/%u/explain", (unsigned)job);
    buf_init(&body, REPLY_MAX);
    rc = say_call(cli, "GET", path, NULL, &body, &err);
    if (rc == 0)
        rc = reply_text_decode(body.text, body.len, &text, &err);
    if (rc < 0) {
        rc = cli_fail(cli, &err);
    } else if (cli->is_json) {
        rc = say_json(cli, &body);
    } else {
        say_lines(text);
        rc = CLI_OK;
    }
    mem_free(text);
    buf_release(&body);
    return rc;
}

const struct cli_command cli_explain = {
    .name = "explain",
    .usage = "[OPTION]... ID",
    .summary = "tell why a job has what it has, why it waits, or why it ended",
    .run = run,
};
