/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h - who ran where and when, as one SVG picture.
 *
 * Time runs to the right, devices stand below each other, each job has a colour; a bar is
 * labelled with job, size and batch where there is room. The picture needs nothing from
 * outside (no font, script or link), all text in it is escaped, and equal input gives
 * equal bytes. */
#ifndef REPORT_TIMELINE_H
#define REPORT_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "sim/spans.h"

#define TIMELINE_SVG_MAX ((size_t)64 << 20)

struct timeline_job {
    uint32_t id;
    const char *name;
};

struct timeline_node {
    const char *name;
    int32_t first; /* its devices: first .. first + devices - 1 */
    int32_t devices;
};

struct timeline {
    const char *title; /* may be "" */
    usec_t from_us;    /* shown as 0:00:00 */
    usec_t to_us;
    const struct timeline_job *jobs; /* by id, ascending */
    size_t n_jobs;
    const struct timeline_node *nodes;
    size_t n_nodes;
    const struct sim_span *spans;
    size_t n_spans;
    const struct sim_outage *outages;
    size_t n_outages;
};

/* Appends the picture to out. Returns 0 or what went wrong with the buf. */
int timeline_svg(const struct timeline *t, struct buf *out);

#endif
