/* SPDX-License-Identifier: Apache-2.0 */
/* patience.h - a daemon that restarts is not the end of a command that waits for a job:
 * once it has answered, silence is borne for PATIENCE_S, counted from the moment at which
 * it was noticed. */
#ifndef CLI_PATIENCE_H
#define CLI_PATIENCE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/units.h"
#include "cli/cli.h"

#define PATIENCE_S        60
#define PATIENCE_RETRY_MS 500

struct patience {
    const struct cli *cli;
    bool is_heard;  /* the daemon has answered at least once */
    usec_t lost_us; /* of the boot clock: since when it does not; 0: it does */
};

/* The boot clock: goes on while the machine sleeps. */
usec_t patience_now(void);
/* The daemon has answered. */
void patience_heard(struct patience *p);
/* After a failure: true when the same may be tried again, then a while has passed. Warns
 * once each time the daemon goes away. */
bool patience_bears(struct patience *p, const struct err *err);

#endif
