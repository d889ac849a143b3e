/* SPDX-License-Identifier: Apache-2.0 */
/* elastaned_options.h - what the daemon was called with. */
#ifndef PROG_ELASTANED_OPTIONS_H
#define PROG_ELASTANED_OPTIONS_H

#include <limits.h>
#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"
#include "core/config.h"
#include "core/limits.h"

enum options_given {
    GIVEN_POLICY = 1,
    GIVEN_ADMISSION = 2,
    GIVEN_SCALER = 4,
    GIVEN_MIN_RUN = 8,
    GIVEN_MIN_GAP = 16,
    GIVEN_ADMIT_WAIT = 32,
    GIVEN_INTERVAL = 64,
};

struct options {
    char state[PATH_MAX];
    char socket[PATH_MAX];
    char shim[PATH_MAX];
    char node[NAME_MAX_BYTES];
    int32_t devices;      /* -1: as many GPUs as there are */
    int32_t keep_jobs;    /* ended ones; 0: all */
    usec_t keep_us;       /* ended ones, for so long; 0: for ever */
    int32_t log_keep_mib; /* of each rank's log; 0: all of it */
    const char *pace;
    int64_t foreign_mem; /* bytes */
    usec_t foreign_clean_us;
    usec_t patrol_us;
    unsigned given;       /* which settings below were stated */
    struct config config; /* those settings; the others are 0 */
};

enum options_verdict { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG };

/* Reads the command line and fills defaults in. OPTIONS_DONE: help or version was printed
 * on standard output. OPTIONS_WRONG: err says what, or getopt has said it already. */
enum options_verdict options_read(int argc, char **argv, struct options *ret,
                                  struct err *err) ATTR_MUST_USE;

/* For options_read(): fills in what was not stated and refuses what cannot work. */
int options_complete(struct options *options, struct err *err) ATTR_MUST_USE;

/* The settings of the state with those of the command line over them. */
void options_apply(const struct options *options, struct config *inout);

#endif
