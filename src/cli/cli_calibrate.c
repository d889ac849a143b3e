/* SPDX-License-Identifier: Apache-2.0 */
/* cli_calibrate.c - have the daemon measure how fast devices talk to each other, and show
 * what it found. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/format.h"
#include "cli/say.h"
#include "cli/table.h"
#include "wire/reply.h"

#define OPT_SHOW CLI_LONG

static const struct cli_option options[] = {
    {OPT_SHOW, "show", NULL, "show the last result; measure nothing"},
};

static const struct table_column columns[] = {
    {"BYTES", TABLE_RIGHT, 0, 0},
    {"GPUS", TABLE_RIGHT, 0, 0},
    {"NODES", TABLE_RIGHT, 0, 0},
    {"TIME", TABLE_RIGHT, 0, 0},
};

static int print(const struct cli *cli, const struct reply_calibration *c)
{
    struct table t;
    char text[FORMAT_MAX];
    int exit;

    say_line("calibration %s%s%s (%s)", c->state, c->reason[0] ? ": " : "", c->reason,
             format_moment(text, c->time_us));
    if (c->n_points == 0)
        return CLI_OK;
    table_init(&t, columns, ARRAY_SIZE(columns));
    for (size_t i = 0; i < c->n_points; i++) {
        table_cell(&t, "%lld", (long long)c->points[i].bytes);
        table_cell(&t, "%lld", (long long)c->points[i].size);
        table_cell(&t, "%lld", (long long)c->points[i].nodes);
        table_cell(&t, "%s", format_time_ns(text, c->points[i].time_ns));
    }
    exit = say_table(cli, &t, -1);
    table_release(&t);
    return exit;
}

#define NODES_NAMED 4 /* of those whose holders a message names */

/* "needs 2 free devices, 1 free now": who holds the others, and what may be done. */
static void explain_busy(struct client *client, struct buf *body, struct err *err)
{
    struct reply_nodes nodes = {0};
    struct err ignored = {0};
    struct buf text;
    int64_t n_up = 0;
    size_t n = 0;

    buf_init(&text, sizeof err->text - 1);
    buf_puts(&text, err->text);
    if (client_call(client, "GET", "/v1/nodes", NULL, body, &ignored) < 0 ||
        reply_nodes_decode(body->text, body->len, &nodes, &ignored) < 0)
        goto out;
    for (size_t i = 0; i < nodes.n; i++) {
        const struct reply_node *node = &nodes.items[i];

        n_up += node->held + node->free;
        if (node->jobs[0] == '\0')
            continue;
        if (n < NODES_NAMED)
            buf_printf(&text, "%s%s on %.*s", n > 0 ? ", " : "; jobs (id:devices) hold ",
                       node->jobs, (int)sizeof node->name, node->name);
        n++;
    }
    if (n > NODES_NAMED)
        buf_printf(&text, " and %zu nodes more (elastane nodes)", n - NODES_NAMED);
    if (n_up < 2)
        buf_printf(&text,
                   "; %" PRId64 " device%s up, and there is nothing to measure "
                   "between fewer than two",
                   n_up, n_up == 1 ? " is" : "s are");
    else if (n > 0)
        buf_puts(&text,
                 "; wait until one has ended (elastane wait ID), or pause one that "
                 "saves (elastane pause ID), calibrate, and resume it");
out:
    (void)err_set(err, err->code, "%s", text.text);
    reply_nodes_release(&nodes);
    buf_release(&text);
}

/* A measurement that another started is over within about a minute. */
static bool is_running(struct client *client, struct buf *body)
{
    struct reply_calibration c = {0};
    struct err ignored = {0};
    bool is_it = client_call(client, "GET", "/v1/calibrate", NULL, body, &ignored) == 0 &&
                 reply_calibration_decode(body->text, body->len, &c, &ignored) == 0 &&
                 strcmp(c.state, "running") == 0;

    reply_calibration_release(&c);
    return is_it;
}

static int start_it(struct client *client, const char *start, struct buf *body,
                    struct err *err)
{
    int rc = client_call(client, "POST", start, NULL, body, err);

    if (rc != E_BUSY)
        return rc;
    if (is_running(client, body))
        return err_set(err, rc,
                       "a calibration is running already; it takes about a minute, then "
                       "'elastane calibrate --show' shows it");
    explain_busy(client, body, err);
    return rc;
}

/* Starts a measurement unless only the last one is wanted, then polls until it is over.
 */
static int measure(const struct cli *cli, struct client *client, const char *start,
                   struct buf *body, struct reply_calibration *ret, struct err *err)
{
    char path[64];
    int rc = 0;

    if (start)
        rc = start_it(client, start, body, err);
    if (start && rc == 0 && isatty(STDERR_FILENO))
        cli_note(cli, "measuring on the free devices, about a minute ...");
    (void)snprintf(path, sizeof path, "/v1/calibrate?timeout_s=%d",
                   start ? CLIENT_WAIT_S : 0);
    while (rc == 0) {
        reply_calibration_release(ret);
        rc = client_wait(client, path, body, err);
        if (rc == 0)
            rc = reply_calibration_decode(body->text, body->len, ret, err);
        if (rc < 0 || !start || strcmp(ret->state, "running") != 0)
            break;
    }
    return rc;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct reply_calibration c = {0};
    const char *start = "/v1/calibrate";
    struct client *client = NULL;
    struct cli_args args;
    struct err err = {0};
    struct buf body;
    int id, rc;

    cli_args_init(&args, cli, &cli_calibrate, argc, argv);
    while ((id = cli_args_next(&args)) > 0)
        start = NULL; /* --show is the only one */
    if (id == CLI_ARGS_DONE)
        return args.exit;
    if (args.first < argc)
        return cli_usage(cli, "too many operands");
    buf_init(&body, REPLY_MAX);
    rc = client_open(cli, &client, &err);
    if (rc == 0)
        rc = measure(cli, client, start, &body, &c, &err);
    client_close(client);
    if (rc < 0)
        rc = cli_fail(cli, &err);
    else
        rc = cli->is_json ? say_json(cli, &body) : print(cli, &c);
    if (rc == CLI_OK && strcmp(c.state, "failed") == 0)
        rc = CLI_FAILED;
    reply_calibration_release(&c);
    buf_release(&body);
    return rc;
}

const struct cli_command cli_calibrate = {
    .name = "calibrate",
    .usage = "[OPTION]...",
    .summary = "measure how fast devices talk to each other",
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .run = run,
};
