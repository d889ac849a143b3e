/* SPDX-License-Identifier: Apache-2.0 */
/* draft.h - a decision in the making: the core as it was, and the changes so far.
 *
 * Inside the core only. A handler copies a job's run record, edits the copy and puts it
 * back; it does so at most once a job, except to walk two edges of the state table in one
 * step. Errors stick: after the first failure nothing is added, and draft_end() reports
 * it. */
#ifndef CORE_DRAFT_H
#define CORE_DRAFT_H

#include "core/core.h"

struct draft {
    const struct core *core;
    struct changes *out;
    usec_t now_us;
    struct globals globals; /* edited freely, written by draft_end when they differ */
    int error;
};

void draft_begin(struct draft *d, const struct core *core, usec_t now_us,
                 struct changes *out);
/* Adds the globals when anything happened. A step that changed nothing but the time
 * leaves no change at all. Returns 0 or the first error; then out is emptied. */
int draft_end(struct draft *d);

void draft_put_run(struct draft *d, const struct job_run *run);
void draft_put_spec(struct draft *d, const struct job_spec *spec);
void draft_put_model(struct draft *d, uint32_t job, const struct perf_model *model);
void draft_put_profile(struct draft *d, const struct profile *profile);
void draft_put_node(struct draft *d, const struct node *node);
void draft_put_mark(struct draft *d, const struct device_mark *mark);
void draft_put_config(struct draft *d, const struct config *config);
/* Joins with the hold before it when they touch and agree. */
void draft_put_hold(struct draft *d, int32_t device, uint32_t job, uint32_t flags);

/* For every device of the job: flags become (flags & keep) | add; a
 * device without flags is free. Devices of other nodes than `node` are left alone unless
 * node is < 0. Returns how many devices of the job still have HOLD_NOW afterwards. */
int32_t draft_update_holds(struct draft *d, uint32_t job, int32_t node, uint32_t keep,
                           uint32_t add);

#endif
