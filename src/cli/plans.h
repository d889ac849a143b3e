/* SPDX-License-Identifier: Apache-2.0 */
/* plans.h - a dry run for people: one line per size. */
#ifndef CLI_PLANS_H
#define CLI_PLANS_H

#include "cli/cli.h"
#include "core/job.h"
#include "wire/dryrun.h"

/* Prints the table; an exit code. */
int plans_print(const struct cli *cli, const struct job_spec *spec,
                const struct dryrun *dryrun);

#endif
