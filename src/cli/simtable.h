/* SPDX-License-Identifier: Apache-2.0 */
/* simtable.h - how the jobs of a simulated run fared, one a line. */
#ifndef CLI_SIMTABLE_H
#define CLI_SIMTABLE_H

#include "cli/cli.h"
#include "sim/sim.h"

/* Prints the table; an exit code. */
int simtable_print(const struct cli *cli, const struct scenario *scn,
                   const struct sim_result *result);

#endif
