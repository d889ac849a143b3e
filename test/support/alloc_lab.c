/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_lab.c - see alloc_lab.h. */
#include "support/alloc_lab.h"

#include "core/alloc/dp.h"
#include "support/alloc_cases.h"

#define STEPS_MAX (CASE_ROWS_MAX * CASE_OPTIONS_MAX)
#define CELLS_MAX (CASE_ROWS_MAX * (CASE_DEVICES_MAX + 1))

struct reduced *alloc_lab_reduce(const struct alloc_problem *p)
{
    static struct step steps[STEPS_MAX];
    static int32_t least[CASE_ROWS_MAX], first[CASE_ROWS_MAX], end[CASE_ROWS_MAX];
    static struct reduced r;

    r = (struct reduced){.steps = steps, .least = least, .first = first, .end = end};
    return reduced_build(&r, p) == 0 ? &r : NULL;
}

static struct alloc_scratch scratch;

struct solver *alloc_lab_solver(const struct alloc_problem *p, struct alloc_result *ret)
{
    static int32_t sizes[CASE_ROWS_MAX];

    return alloc_solve(p, &scratch, sizes, ret) == 0 ? scratch.solver : NULL;
}

void alloc_lab_release(void)
{
    alloc_scratch_release(&scratch);
}

int64_t alloc_lab_dp(const struct reduced *r, int32_t *step)
{
    static int64_t best[CASE_DEVICES_MAX + 1], cell[CASE_ROWS_MAX];
    static uint16_t choice[CELLS_MAX];
    static int32_t low[CASE_ROWS_MAX], high[CASE_ROWS_MAX];
    struct dp_work work = {best, choice, cell, low, high};
    struct dp_size size = dp_measure(r);

    return dp_solve(r, &size, &work, step);
}
