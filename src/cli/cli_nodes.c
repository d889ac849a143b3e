/* SPDX-License-Identifier: Apache-2.0 */
/* cli_nodes.c - the nodes, their devices, and who holds them. */
#include <stdio.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/say.h"
#include "cli/table.h"
#include "wire/reply.h"

static const struct table_column columns[] = {
    {"NODE", TABLE_LEFT, 8, 0},  {"TYPE", TABLE_LEFT, 8, 3},  {"STATE", TABLE_LEFT, 0, 0},
    {"GPUS", TABLE_RIGHT, 0, 0}, {"HELD", TABLE_RIGHT, 0, 4}, {"FREE", TABLE_RIGHT, 0, 1},
    {"GONE", TABLE_RIGHT, 0, 2}, {"JOBS", TABLE_LEFT, 8, 0},
};

#define STATE_COLUMN 2

/* Below the table: few devices are marked, and of those everything matters. */
static void print_marks(const struct reply_node *node)
{
    char holder[40] = "";

    for (size_t i = 0; i < node->n_marks; i++) {
        const struct reply_mark *mark = &node->marks[i];

        if (mark->job > 0)
            (void)snprintf(holder, sizeof holder, ", held by job %lld",
                           (long long)mark->job);
        say_line("%s gpu %lld is %s%s%s%s", node->name, (long long)mark->device,
                 mark->state, mark->job > 0 ? holder : "", mark->who[0] ? ": " : "",
                 mark->who);
    }
}

static int print(const struct cli *cli, const struct reply_nodes *nodes)
{
    struct table t;
    int exit;

    table_init(&t, columns, ARRAY_SIZE(columns));
    t.is_wrapped = true;
    for (size_t i = 0; i < nodes->n; i++) {
        const struct reply_node *node = &nodes->items[i];

        table_cell(&t, "%s", node->name);
        table_cell(&t, "%s", node->device_type[0] ? node->device_type : "-");
        table_cell(&t, "%s", node->state);
        table_cell(&t, "%lld", (long long)node->devices);
        table_cell(&t, "%lld", (long long)node->held);
        table_cell(&t, "%lld", (long long)node->free);
        table_cell(&t, "%lld", (long long)node->gone);
        table_cell(&t, "%s", node->jobs[0] ? node->jobs : "-");
    }
    exit = say_table(cli, &t, STATE_COLUMN);
    table_release(&t);
    for (size_t i = 0; i < nodes->n; i++)
        print_marks(&nodes->items[i]);
    return exit;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct reply_nodes nodes = {0};
    struct cli_args args;
    struct err err = {0};
    struct buf body;
    int rc;

    cli_args_init(&args, cli, &cli_nodes, argc, argv);
    if (cli_args_plain(&args, 0, 0) == CLI_ARGS_DONE)
        return args.exit;
    buf_init(&body, REPLY_MAX);
    rc = say_call(cli, "GET", "/v1/nodes", NULL, &body, &err);
    if (rc == 0)
        rc = reply_nodes_decode(body.text, body.len, &nodes, &err);
    if (rc < 0)
        rc = cli_fail(cli, &err);
    else
        rc = cli->is_json ? say_json(cli, &body) : print(cli, &nodes);
    reply_nodes_release(&nodes);
    buf_release(&body);
    return rc;
}

const struct cli_command cli_nodes = {
    .name = "nodes",
    .usage = "[OPTION]...",
    .summary = "show the nodes and who holds their devices",
    .details = "JOBS names each holder as id:devices; GONE are devices that were lost. "
               "Lines below the table tell which devices are not given out and why: "
               "foreign ones are in use by somebody else, stuck ones are not clean after "
               "a job.",
    .run = run,
};
