/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - reports about one simulated run. */
#ifndef REPORT_RUN_H
#define REPORT_RUN_H

#include "base/buf.h"
#include "sim/sim.h"

/* Appends the timeline of a run that recorded its spans, as SVG. Returns 0, E_NOMEM or
 * E_LIMIT. */
int run_svg(const struct scenario *scn, const struct sim_result *result,
            const char *title, struct buf *out);

#endif
