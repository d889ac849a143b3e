/* SPDX-License-Identifier: Apache-2.0 */
/* fifo.c - a rigid scheduler, for comparison: first come, first served, size for life.
 *
 * A job is given what its user would have asked such a scheduler for: the largest size of
 * its set that the devices of the moment can hold, with the batch it was tuned for. It
 * starts when that many are free and keeps them until it ends. With admission `queue`
 * nobody overtakes. Jobs whose only sizes are larger than the cluster of the moment are
 * blocked, as everywhere.
 *
 * "Of the moment", not "as configured": a job 1..8 that comes while half of eight devices
 * are lost starts with 4 at once, and keeps 4. */
#include "core/policy/admission.h"
#include "core/policy/table.h"

static int32_t requested_size(const struct policy_view *view,
                              const struct policy_job *job)
{
    if (job->standing != POLICY_WAITING)
        return job->held;
    for (int32_t i = job->row->n_options; i > 0; i--)
        if (job->row->options[i - 1].size <= view->devices)
            return job->row->options[i - 1].size;
    return 0;
}

static int fifo_plan(const struct policy *policy, const struct policy_view *view,
                     struct policy_scratch *scratch, struct policy_target *ret_targets,
                     struct alloc_result *ret)
{
    const struct admission admission = {
        .policy = policy,
        .view = view,
        .scratch = scratch,
        .targets = ret_targets,
        .need = requested_size,
    };

    return admission_plan(&admission, ret);
}

const struct policy policy_fifo = {
    .name = "fifo",
    .summary = "first come, first served, with a fixed size and batch (rigid)",
    .batch = ROW_BATCH_BASE,
    .is_rigid = true,
    .plan = fifo_plan,
};
