/* SPDX-License-Identifier: Apache-2.0 */
/* cli_status.c - whether the daemon is well, and what it does. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/say.h"
#include "wire/reply.h"

#define VALUE_COLUMN 10

static int print(const struct reply_status *s)
{
    char withheld[40] = "";

    say_line("elastaned %s, process %lld", s->version, (long long)s->pid);
    say_field("policy", VALUE_COLUMN, "%s, admission %s, scaler %s", s->policy,
              s->admission, s->scaler);
    if (s->withheld > 0)
        (void)snprintf(withheld, sizeof withheld, ", %lld withheld",
                       (long long)s->withheld);
    say_field("devices", VALUE_COLUMN, "%lld: %lld held, %lld free, %lld gone%s",
              (long long)s->total, (long long)s->held, (long long)s->free,
              (long long)s->gone, withheld);
    say_field("jobs", VALUE_COLUMN, "%s", s->jobs[0] ? s->jobs : "none");
    if (s->is_blocked)
        say_field("BLOCKED", VALUE_COLUMN, "the journal cannot be written: %s",
                  s->blocked_reason);
    return CLI_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct reply_status status = {0};
    struct cli_args args;
    struct err err = {0};
    struct buf body;
    int rc;

    cli_args_init(&args, cli, &cli_status, argc, argv);
    if (cli_args_plain(&args, 0, 0) == CLI_ARGS_DONE)
        return args.exit;
    buf_init(&body, REPLY_MAX);
    rc = say_call(cli, "GET", "/v1/status", NULL, &body, &err);
    if (rc == 0)
        rc = reply_status_decode(body.text, body.len, &status, &err);
    if (rc < 0) {
        rc = cli_fail(cli, &err);
    } else {
        rc = cli->is_json ? say_json(cli, &body) : print(&status);
        if (rc == CLI_OK && status.is_blocked)
            rc = CLI_FAILED;
    }
    buf_release(&body);
    return rc;
}

const struct cli_command cli_status = {
    .name = "status",
    .usage = "[OPTION]...",
    .summary = "show how the daemon is",
    .details = "Exit code 1 when the daemon cannot write its journal.",
    .run = run,
};
