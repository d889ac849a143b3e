/* SPDX-License-Identifier: Apache-2.0 */
/* admission.h - who is in the plan: the part that all policies share.
 *
 * A policy says what a job needs at least (need) and which sizes it may then have; this
 * file decides who keeps running, who starts and who waits, and asks the allocator. */
#ifndef CORE_POLICY_ADMISSION_H
#define CORE_POLICY_ADMISSION_H

#include <stdint.h>

#include "core/policy/policy.h"

struct admission {
    const struct policy *policy;
    const struct policy_view *view;
    struct policy_scratch *scratch;
    struct policy_target *targets; /* one per job of the view; filled in */
    /* Devices without which the job cannot be in the plan; 0: no size will do. A policy
     * that is rigid gives exactly these. */
    int32_t (*need)(const struct policy_view *view, const struct policy_job *job);
};

/* Fills all targets and *ret. Returns 0 or E_NOMEM (the targets are then undefined). */
int admission_plan(const struct admission *a, struct alloc_result *ret);

#endif
