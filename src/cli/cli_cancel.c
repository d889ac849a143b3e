/* SPDX-License-Identifier: Apache-2.0 */
/* cli_cancel.c - end jobs for good. */
#include "cli/action.h"
#include "cli/cli.h"

static int run(struct cli *cli, int argc, char **argv)
{
    return action_run(cli, &cli_cancel, argc, argv);
}

const struct cli_command cli_cancel = {
    .name = "cancel",
    .usage = "[OPTION]... ID...",
    .summary = "end jobs for good",
    .details = "Running jobs get their notice and their grace to save.",
    .run = run,
};
