/* SPDX-License-Identifier: Apache-2.0 */
/* action.c - see action.h. */
#include "cli/action.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/say.h"
#include "wire/reply.h"

static int act(const struct cli *cli, const char *verb, uint32_t job, struct buf *json)
{
    struct reply_accepted accepted = {0};
    struct err err = {0};
    struct buf body;
    char path[64];
    int rc;

    (void)snprintf(path, sizeof path, "/v1/jobs/%u/%s", (unsigned)job, verb);
    buf_init(&body, REPLY_MAX);
    rc = say_call(cli, "POST", path, NULL, &body, &err);
    if (rc == 0)
        rc = reply_accepted_decode(body.text, body.len, &accepted, &err);
    if (rc == 0 && cli->is_json) {
        if (json->len > 0)
            buf_putc(json, ',');
        rc = reply_tidy(body.text, body.len, json, &err);
        if (rc == 0)
            json->len--; /* the '\n' */
    }
    if (rc == 0 && !cli->is_json)
        printf("job %u: %s\n", (unsigned)job, accepted.state);
    say_warnings(cli, accepted.warnings);
    reply_accepted_release(&accepted);
    buf_release(&body);
    return rc < 0 ? cli_fail(cli, &err) : CLI_OK;
}

int action_run(struct cli *cli, const struct cli_command *command, int argc, char **argv)
{
    struct cli_args args;
    struct buf json;
    int exit = CLI_OK;
    uint32_t job;

    cli_args_init(&args, cli, command, argc, argv);
    if (cli_args_plain(&args, 1, INT_MAX) == CLI_ARGS_DONE)
        return args.exit;
    for (int i = args.first; i < argc; i++) {
        int rc = say_job_id(cli, argv[i], &job);

        if (rc != 0)
            return rc;
    }
    buf_init(&json, REPLY_MAX);
    for (int i = args.first; i < argc; i++) {
        int rc = say_job_id(cli, argv[i], &job);

        if (rc == 0)
            rc = act(cli, command->name, job, &json);
        if (exit == CLI_OK)
            exit = rc;
    }
    if (cli->is_json)
        printf("[%.*s]\n", (int)json.len, json.text);
    buf_release(&json);
    return exit;
}
