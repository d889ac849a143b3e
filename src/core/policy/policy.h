/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - a policy: who should have how much, as a pure function of a view.
 *
 * A policy is a const struct in one table (policy.c); a new one is one file. It names
 * target sizes only: whether and when a move is made is the scaler's question. */
#ifndef CORE_POLICY_POLICY_H
#define CORE_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/alloc/alloc.h"
#include "core/config.h"
#include "core/job.h"
#include "core/perf/row.h"

enum policy_standing {
    POLICY_PINNED,  /* in a move, or pinned: its size is `held` and may not change */
    POLICY_RUNNING, /* may be resized to any size of its row, never to 0 */
    POLICY_WAITING, /* in the queue */
};

struct policy_job {
    const struct job_spec *spec;
    const struct job_run *run;
    const struct row *row; /* sizes above the momentary capacity may be in it */
    enum policy_standing standing;
    int32_t held;        /* devices it holds or is moving to; 0 when waiting */
    bool may_be_dropped; /* it never ran */
};

struct policy_view {
    const struct config *config;
    usec_t now_us;
    int32_t devices;               /* momentary capacity of this device type */
    const struct policy_job *jobs; /* pinned and running ones by id, then the queue by
                                      order: the blocked ones that returned stand first */
    int32_t n_jobs;
};

enum policy_verdict {
    POLICY_SIZE,    /* target is `size`: keep, resize or start */
    POLICY_WAIT,    /* stays in the queue; reason says what is missing */
    POLICY_BLOCKED, /* its minimum exceeds the momentary capacity: stepped over */
    POLICY_DROP,    /* leaves the queue for good */
    POLICY_YIELD,   /* running, but everything running no longer fits (capacity shrank):
                       back to the head of the queue */
};

struct policy_target {
    enum policy_verdict verdict;
    int32_t size;
    char reason[REASON_MAX_BYTES]; /* for WAIT, BLOCKED, DROP, YIELD */
};

struct policy_scratch {
    struct alloc_scratch alloc;
    struct alloc_row *rows;
    size_t cap_rows;
    struct alloc_option *options; /* one a job, for those that have no choice */
    size_t cap_options;
    int32_t *sizes;
    size_t cap_sizes;
};

void policy_scratch_init(struct policy_scratch *s);
void policy_scratch_release(struct policy_scratch *s);

struct policy {
    const char *name;    /* "joint" */
    const char *summary; /* one line for --help */
    enum row_batch batch;
    bool is_rigid; /* a size once given stays until the job ends */
    /* Fills ret_targets[n_jobs] and *ret (what the allocator said; all jobs together).
     * Returns 0 or E_NOMEM (the targets are then undefined). Whatever the input, the
     * sizes of PINNED, RUNNING and admitted jobs sum to at most view->devices, except for
     * pinned ones that exceed it alone. */
    int (*plan)(const struct policy *policy, const struct policy_view *view,
                struct policy_scratch *scratch, struct policy_target *ret_targets,
                struct alloc_result *ret);
};

/* joint, fixed-min, fixed-max, fixed-max-accum, fixed-base, fifo; NULL when unknown. */
const struct policy *policy_find(const char *name);
/* The index-th policy, NULL past the end. */
const struct policy *policy_at(size_t index);

#endif
