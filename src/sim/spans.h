/* SPDX-License-Identifier: Apache-2.0 */
/* spans.h - who held which devices from when to when: what a timeline is drawn from.
 *
 * A recorder for an engine's watch port. A span is cut whenever the job's state, size,
 * batch or devices change. */
#ifndef SIM_SPANS_H
#define SIM_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "base/units.h"
#include "core/core.h"

struct sim_span {
    uint32_t job;
    int32_t first; /* devices first .. first + count - 1 */
    int32_t count;
    usec_t from_us;
    usec_t to_us;
    enum job_state state;
    int32_t size;         /* of the whole job */
    int32_t global_batch; /* 0: none stated */
};

/* A node that was down. */
struct sim_outage {
    int32_t first;
    int32_t count;
    usec_t from_us;
    usec_t to_us;
};

struct spans {
    struct sim_span *done; /* by the moment at which they ended */
    size_t n_done;
    size_t cap_done;
    struct sim_span *open; /* in the order in which they began; to_us unused */
    size_t n_open;
    size_t cap_open;
    struct sim_outage *outages;
    size_t n_outages;
    size_t cap_outages;
    int error;
};

void spans_init(struct spans *s);
void spans_release(struct spans *s);

/* The job may look different from now on. A job that has left the core has ended. */
void spans_touch(struct spans *s, const struct core *core, uint32_t job, usec_t now_us);
void spans_node_lost(struct spans *s, const struct node *node, usec_t now_us);
void spans_node_back(struct spans *s, const struct node *node, usec_t now_us);
/* Ends everything that is open. Returns 0 or E_NOMEM from any of the calls. */
int spans_close(struct spans *s, usec_t now_us);

#endif
