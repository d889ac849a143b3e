/* SPDX-License-Identifier: Apache-2.0 */
/* cli_pause.c - stop jobs until they are resumed. */
#include "cli/action.h"
#include "cli/cli.h"

static int run(struct cli *cli, int argc, char **argv)
{
    return action_run(cli, &cli_pause, argc, argv);
}

const struct cli_command cli_pause = {
    .name = "pause",
    .usage = "[OPTION]... ID...",
    .summary = "stop jobs until they are resumed",
    .details = "Running jobs save and give their devices back.",
    .run = run,
};
