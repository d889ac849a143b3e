/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_lab.h - the parts of the allocator, one at a time, in memory of their own.
 *
 * For problems within CASE_ROWS_MAX rows of CASE_OPTIONS_MAX sizes and CASE_DEVICES_MAX
 * devices. One reduced problem exists at a time. */
#ifndef TEST_SUPPORT_ALLOC_LAB_H
#define TEST_SUPPORT_ALLOC_LAB_H

#include <stdint.h>

#include "core/alloc/reduced.h"
#include "core/alloc/solver.h"

/* NULL when p is infeasible; valid until the next call. */
struct reduced *alloc_lab_reduce(const struct alloc_problem *p);
/* A solver after a solve of p, for a look inside; NULL when p is infeasible. */
struct solver *alloc_lab_solver(const struct alloc_problem *p, struct alloc_result *ret);
void alloc_lab_release(void);
/* The gain of the best solution. */
int64_t alloc_lab_dp(const struct reduced *r, int32_t *step);

#endif
