/* SPDX-License-Identifier: Apache-2.0 */
/* cli_submit.c - hand a job in. The id stands alone on standard output, for scripts;
 * warnings go to standard error. With --dry-run nothing leaves this process. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/fields.h"
#include "cli/hints.h"
#include "cli/intake.h"
#include "cli/plans.h"
#include "cli/say.h"
#include "wire/dryrun.h"
#include "wire/reply.h"

#define OPT_DRY_RUN CLI_LONG

static const struct cli_option own_options[] = {
    {OPT_DRY_RUN, "dry-run", NULL, "show the plan of every size; submit nothing"},
};

/* What the command line asks for. */
struct request {
    struct cli_command command; /* cli_submit with all options */
    struct cli_option options[ARRAY_SIZE(own_options) + JOB_FIELD_MAX];
    struct fields fields;
    const char *path; /* job file or script; NULL: none */
    char **args;      /* behind the script */
    int n_args;
    char **line; /* behind "--" */
    int n_line;
    bool is_dry;
};

static int dry_run(const struct cli *cli, const struct intake *intake)
{
    const struct submit *submit = &intake->submit;
    struct dryrun dryrun = {0};
    struct err err = {0};
    struct buf json;
    int rc, exit;

    rc = dryrun_build(&submit->spec, submit->has_model ? &submit->model : NULL, &dryrun);
    if (rc < 0) {
        (void)err_set(&err, rc, "out of memory");
        return cli_fail(cli, &err);
    }
    if (cli->is_json) {
        buf_init(&json, REPLY_MAX);
        rc = dryrun_encode(&dryrun, &json, &err);
        exit = rc < 0 ? cli_fail(cli, &err) : CLI_OK;
        if (rc == 0)
            fputs(json.text, stdout);
        buf_release(&json);
    } else {
        exit = plans_print(cli, &submit->spec, &dryrun);
    }
    if (exit == CLI_OK && dryrun.n_feasible == 0)
        exit = intake_fail(cli, intake, &dryrun.why);
    dryrun_release(&dryrun);
    return exit;
}

static int print_accepted(const struct cli *cli, const struct buf *body)
{
    struct reply_accepted accepted = {0};
    struct err err = {0};
    int rc = reply_accepted_decode(body->text, body->len, &accepted, &err);

    if (rc < 0)
        return cli_fail(cli, &err);
    say_warnings(cli, accepted.warnings);
    if (cli->is_json)
        rc = say_json(cli, body);
    else
        rc = printf("%lld\n", (long long)accepted.id) < 0 ? CLI_FAILED : CLI_OK;
    reply_accepted_release(&accepted);
    return rc;
}

static int send(const struct cli *cli, const struct intake *intake)
{
    struct buf request, body;
    struct err err = {0};
    int rc;

    buf_init(&request, SUBMIT_BODY_MAX);
    buf_init(&body, REPLY_MAX);
    rc = submit_encode(&intake->submit, &request, &err);
    if (rc == 0)
        rc = say_call(cli, "POST", "/v1/jobs", request.text, &body, &err);
    rc = rc < 0 ? intake_fail(cli, intake, &err) : print_accepted(cli, &body);
    buf_release(&request);
    buf_release(&body);
    return rc;
}

static void warn(const struct cli *cli, const struct intake *intake)
{
    const struct submit *submit = &intake->submit;

    if (intake->late_line > 0)
        cli_warn(cli,
                 "%s:%d: this #ELASTANE line stands behind the first command and does "
                 "not count; move it to the top",
                 intake->source, intake->late_line);
    if (hints_launch(submit))
        cli_warn(cli, "%s", hints_launch(submit));
    if (!(submit->given & BIT(JOB_FIELD_LEVEL)) && submit->spec.level == JOB_RESTARTABLE)
        cli_warn(cli,
                 "a range without --level: taken as restartable, so the job must save "
                 "on notice and resume");
}

static int submit(const struct cli *cli, const struct request *r)
{
    struct intake intake;
    struct err err = {0};
    int rc = 0;

    intake_init(&intake);
    if (r->path)
        rc = intake_read(&intake, r->path, r->args, r->n_args, &err);
    if (rc == 0)
        rc = intake_flags(&intake, &r->fields, r->line, r->n_line, &err);
    if (rc == 0)
        rc = intake_finish(&intake, &err);
    if (rc < 0) {
        rc = intake_fail(cli, &intake, &err);
    } else {
        warn(cli, &intake);
        rc = r->is_dry ? dry_run(cli, &intake) : send(cli, &intake);
    }
    intake_release(&intake);
    return rc;
}

/* Options, then either "--" and the command, or a file and its words. */
static int parse(struct cli *cli, struct request *r, int argc, char **argv)
{
    struct cli_args args;
    int id;

    cli_args_init(&args, cli, &r->command, argc, argv);
    while ((id = cli_args_next(&args)) > 0) {
        struct err err = {0};

        if (id == OPT_DRY_RUN)
            r->is_dry = true;
        else if (fields_take(&r->fields, id, args.value, &err) < 0)
            return cli_usage(cli, "%s", err.text);
    }
    if (id == CLI_ARGS_DONE)
        return args.exit;
    if (strcmp(argv[args.first - 1], "--") == 0) {
        r->line = argv + args.first;
        r->n_line = argc - args.first;
        if (r->n_line == 0)
            return cli_usage(cli, "the command behind -- is missing");
    } else if (args.first < argc) {
        r->path = argv[args.first];
        r->args = argv + args.first + 1;
        r->n_args = argc - args.first - 1;
    }
    return -1;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct request r = {.command = cli_submit};
    int exit;

    memcpy(r.options, own_options, sizeof own_options);
    r.command.options = r.options;
    r.command.n_options =
        ARRAY_SIZE(own_options) +
        fields_options(FIELDS_SUBMIT, r.options + ARRAY_SIZE(own_options));
    exit = parse(cli, &r, argc, argv);
    return exit >= 0 ? exit : submit(cli, &r);
}

const struct cli_command cli_submit = {
    .name = "submit",
    .usage = "[OPTION]... {-- COMMAND... | JOB.yaml | SCRIPT [WORD]...}",
    .summary = "hand in a job; prints its id",
    .details =
        "Flags count more than the file. Nothing moves unasked: one number of gpus "
        "stays, and so does one batch, or none. See elastane-job(5).",
    .run = run,
};
