/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - the policies that stand in policy.c's table. */
#ifndef CORE_POLICY_TABLE_H
#define CORE_POLICY_TABLE_H

#include "core/policy/policy.h"

extern const struct policy policy_joint;
extern const struct policy policy_fixed_min;
extern const struct policy policy_fixed_max;
extern const struct policy policy_fixed_max_accum;
extern const struct policy policy_fixed_base;
extern const struct policy policy_fifo;

/* The plan of joint, for policies that differ from it in their rows alone. */
int policy_joint_plan(const struct policy *policy, const struct policy_view *view,
                      struct policy_scratch *scratch, struct policy_target *ret_targets,
                      struct alloc_result *ret);

#endif
