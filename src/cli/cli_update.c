/* SPDX-License-Identifier: Apache-2.0 */
/* cli_update.c - change what a job asked for. */
#include <stdio.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/fields.h"
#include "cli/say.h"
#include "wire/reply.h"

struct request {
    struct cli_command command;
    struct cli_option options[JOB_FIELD_MAX];
    struct fields fields;
    uint32_t job;
};

static int send(const struct cli *cli, const struct request *r, const char *patch,
                struct buf *body, struct err *err)
{
    struct reply_accepted accepted = {0};
    char path[64];
    int rc;

    (void)snprintf(path, sizeof path, "/v1/jobs/%u", (unsigned)r->job);
    rc = say_call(cli, "PATCH", path, patch, body, err);
    if (rc == 0)
        rc = reply_accepted_decode(body->text, body->len, &accepted, err);
    if (rc < 0)
        return rc;
    say_warnings(cli, accepted.warnings);
    reply_accepted_release(&accepted);
    return 0;
}

static int update(const struct cli *cli, const struct request *r)
{
    struct submit submit;
    struct buf patch, body;
    struct err err = {0};
    int rc;

    submit_init(&submit);
    buf_init(&patch, SUBMIT_BODY_MAX);
    buf_init(&body, REPLY_MAX);
    rc = fields_apply(&r->fields, &submit, &err);
    if (rc == 0)
        rc = submit_encode_update(&submit, &patch, &err);
    if (rc == 0)
        rc = send(cli, r, patch.text, &body, &err);
    if (rc < 0)
        rc = cli_fail(cli, &err);
    else
        rc = cli->is_json ? say_json(cli, &body) : CLI_OK;
    submit_release(&submit);
    buf_release(&patch);
    buf_release(&body);
    return rc;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct request r = {.command = cli_update};
    struct cli_args args;
    int id, rc;

    r.command.options = r.options;
    r.command.n_options = fields_options(FIELDS_UPDATE, r.options);
    cli_args_init(&args, cli, &r.command, argc, argv);
    args.is_mixed = true;
    while ((id = cli_args_next(&args)) > 0) {
        struct err err = {0};

        if (fields_take(&r.fields, id, args.value, &err) < 0)
            return cli_usage(cli, "%s", err.text);
    }
    if (id == CLI_ARGS_DONE)
        return args.exit;
    if (argc - args.first != 1)
        return cli_usage(cli, "give the id of one job");
    if (r.fields.n == 0)
        return cli_usage(cli, "nothing to change is given");
    rc = say_job_id(cli, argv[args.first], &r.job);
    return rc != 0 ? rc : update(cli, &r);
}

const struct cli_command cli_update = {
    .name = "update",
    .usage = "[OPTION]... ID",
    .summary = "change what a job asked for",
    .details = "What is not named stays as it is; the defaults are those of submit.",
    .run = run,
};
