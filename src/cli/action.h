/* SPDX-License-Identifier: Apache-2.0 */
/* action.h - what cancel, pause and resume have in common: a word said to jobs. */
#ifndef CLI_ACTION_H
#define CLI_ACTION_H

#include "cli/cli.h"

/* POST /v1/jobs/ID/VERB for each operand; VERB is the command's name. All are tried; the
 * exit code is that of the first failure. */
int action_run(struct cli *cli, const struct cli_command *command, int argc, char **argv);

#endif
