/* SPDX-License-Identifier: Apache-2.0 */
/* joint.c - the paper's policy: devices and batch size are one decision.
 *
 * Source: seed-paper.md sections 5 and 7. The batch is settled before: a row holds, for
 * each size, the best batch of the job's range. What remains is who is admitted and which
 * sizes maximise the sum of all speed-ups. A job needs the smallest size of its row; all
 * that run, and all that are admitted, get at least that. */
#include "core/policy/admission.h"
#include "core/policy/table.h"

static int32_t smallest_size(const struct policy_view *view, const struct policy_job *job)
{
    (void)view;
    return row_min_size(job->row);
}

int policy_joint_plan(const struct policy *policy, const struct policy_view *view,
                      struct policy_scratch *scratch, struct policy_target *ret_targets,
                      struct alloc_result *ret)
{
    const struct admission admission = {
        .policy = policy,
        .view = view,
        .scratch = scratch,
        .targets = ret_targets,
        .need = smallest_size,
    };

    return admission_plan(&admission, ret);
}

const struct policy policy_joint = {
    .name = "joint",
    .summary = "chooses gpus and batch size of all jobs together (the paper)",
    .batch = ROW_BATCH_JOINT,
    .plan = policy_joint_plan,
};
