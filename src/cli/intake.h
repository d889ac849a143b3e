/* SPDX-License-Identifier: Apache-2.0 */
/* intake.h - a job from what stands on the command line: flags, a job file or a script,
 * and what has to be looked up here before the daemon can be asked: directories, the
 * environment, the program.
 *
 * Flags count more than the file, the file more than defaults. */
#ifndef CLI_INTAKE_H
#define CLI_INTAKE_H

#include "cli/fields.h"
#include "wire/jobfield.h"
#include "wire/submit.h"

struct intake {
    struct submit submit;
    const char *source; /* name of the file, lent; NULL: none */
    struct job_places places;
    int32_t late_line; /* of a script: an #ELASTANE line that came too late; 0: none */
};

void intake_init(struct intake *intake);
void intake_release(struct intake *intake);

/* Reads a job file (named *.yaml or *.yml) or a script; `args` are the n words behind it
 * on the command line: the script's own arguments (a job file takes none). */
int intake_read(struct intake *intake, const char *path, char *const *args, int n,
                struct err *err);
/* The flags, then the command behind "--" when there is one. */
int intake_flags(struct intake *intake, const struct fields *fields, char *const *command,
                 int n, struct err *err);
/* Looks up what is missing, fills in defaults and checks all there is to check without
 * the daemon. */
int intake_finish(struct intake *intake, struct err *err);

/* Prints the error with file, line and column where they are known; an exit code. */
int intake_fail(const struct cli *cli, const struct intake *intake,
                const struct err *err);

#endif
