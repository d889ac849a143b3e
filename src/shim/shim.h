/* SPDX-License-Identifier: Apache-2.0 */
/* shim.h - the supervisor of one incarnation of a job on one node (DESIGN 5).
 *
 * It starts the ranks that order.json orders, keeps their logs, talks with them over the
 * worker channel and with the daemon over its socket, outlives any daemon, and leaves a
 * durable exit.json. One thread, its own poll loop. */
#ifndef SHIM_SHIM_H
#define SHIM_SHIM_H

#include <stdio.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/units.h"

/* How long an exit waits for the daemon, by default. */
#define SHIM_LEAVE_AFTER_US (10 * USEC_PER_MIN)

enum shim_begin {
    SHIM_BEGIN_STARTED, /* the order is ours; go on with shim_run */
    SHIM_BEGIN_RUNNING, /* another shim has it */
    SHIM_BEGIN_ENDED,   /* it has ended; exit.json tells how */
    SHIM_BEGIN_LOST,    /* the shim that had it died: its processes are gone now and
                           exit.json says so; go on with shim_run to report it */
};

struct shim;

/* Becomes the owner of `dir` when we are root, reads order.json, takes the lock and
 * writes started.json. `log` is lent for the shim's life. */
int shim_begin(const char *dir, FILE *log, usec_t leave_after_us, struct shim **ret,
               enum shim_begin *ret_how, struct err *err) ATTR_MUST_USE;
/* Until the exit was reported, or nobody took it. */
int shim_run(struct shim *s, struct err *err) ATTR_MUST_USE;
void shim_free(struct shim *s);

#endif
