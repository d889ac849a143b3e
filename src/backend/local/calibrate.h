/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate.h - what an all-reduce costs on this machine, measured with the library that
 * the jobs use (DESIGN 4.1): python/elastane/calibrate.py, run as a child.
 *
 * The newest table is kept as STATE/calibration.json and completes the models of jobs for
 * sizes that they have not been measured at. */
#ifndef BACKEND_LOCAL_CALIBRATE_H
#define BACKEND_LOCAL_CALIBRATE_H

#include "base/attr.h"
#include "base/err.h"
#include "base/units.h"
#include "core/core.h"
#include "core/perf/learn.h"
#include "loop/clock.h"
#include "loop/loop.h"

enum calibrate_state {
    CALIBRATE_NONE,
    CALIBRATE_RUNNING,
    CALIBRATE_DONE,
    CALIBRATE_FAILED,
};

struct calibrate {
    struct loop *loop;
    const struct clock *clock;
    struct loop_child *child;
    char *path; /* STATE/calibration.json */
    enum calibrate_state state;
    usec_t time_us; /* of the newest table or failure */
    char reason[REASON_MAX_BYTES];
    struct calibration table; /* n_sizes 0: none */
    void (*changed)(void *arg);
    void *arg;
};

const char *calibrate_state_name(enum calibrate_state state);

/* Reads the table of an earlier run, when there is one. `changed` is called when a
 * measurement has ended. E_NOMEM. */
int calibrate_init(struct calibrate *c, struct loop *loop, const struct clock *clock,
                   const char *state_dir, void (*changed)(void *arg),
                   void *arg) ATTR_MUST_USE;
void calibrate_release(struct calibrate *c);

/* Begins to measure for 2 to n_free devices. E_BUSY: one is running, or there are fewer
 * than two free devices; E_NOTFOUND: the script is not there; E_IO, E_NOMEM. */
int calibrate_start(struct calibrate *c, int32_t n_free, struct err *err) ATTR_MUST_USE;

#endif
