/* SPDX-License-Identifier: Apache-2.0 */
/* cli_resume.c - put paused jobs back into the queue. */
#include "cli/action.h"
#include "cli/cli.h"

static int run(struct cli *cli, int argc, char **argv)
{
    return action_run(cli, &cli_resume, argc, argv);
}

const struct cli_command cli_resume = {
    .name = "resume",
    .usage = "[OPTION]... ID...",
    .summary = "put paused jobs back into the queue",

    .run = run,
};
