/* SPDX-License-Identifier: Apache-2.0 */
/* fixed.c - the paper's baselines: the same scheduler, but every batch is constant.
 *
 * Source: seed-paper.md section 8. Only the rows differ, so these are joint's plan with
 * another rule for the batch. The yardstick R(b*,1) is the same too, hence values of
 * baselines and of joint can be compared. */
#include "core/policy/table.h"

const struct policy policy_fixed_min = {
    .name = "fixed-min",
    .summary = "elastic gpus, every job at its smallest batch",
    .batch = ROW_BATCH_MIN,
    .plan = policy_joint_plan,
};

const struct policy policy_fixed_max = {
    .name = "fixed-max",
    .summary = "elastic gpus, every job at its largest batch, without accumulation",
    .batch = ROW_BATCH_MAX,
    .plan = policy_joint_plan,
};

const struct policy policy_fixed_max_accum = {
    .name = "fixed-max-accum",
    .summary = "elastic gpus, every job at its largest batch, accumulating as needed",
    .batch = ROW_BATCH_MAX_ACCUM,
    .plan = policy_joint_plan,
};

const struct policy policy_fixed_base = {
    .name = "fixed-base",
    .summary = "elastic gpus, every job at the batch it was tuned for",
    .batch = ROW_BATCH_BASE,
    .plan = policy_joint_plan,
};
