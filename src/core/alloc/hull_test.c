/* SPDX-License-Identifier: Apache-2.0 */
#include "core/alloc/hull.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/err.h"
#include "core/alloc/dp.h"
#include "support/alloc_cases.h"
#include "support/alloc_lab.h"

#define SEED    1979
#define N_CASES 20000

static struct alloc_case problem;

/* What the steps gain; fails the test if they do not fit. */
static int64_t weigh(const struct reduced *r, const int32_t *step)
{
    int64_t gain = 0, devices = 0;

    for (int32_t j = 0; j < r->n_rows; j++) {
        if (step[j] < 0)
            continue;
        assert_in_range(step[j], r->first[j], r->end[j] - 1);
        gain += r->steps[step[j]].gain;
        devices += r->steps[step[j]].devices;
    }
    assert_true(devices <= r->room);
    return gain;
}

static void hull_never_passes_its_bound_nor_its_bound_the_optimum(void **state)
{
    const struct case_range range = {6, 8, 40};
    struct rng rng = rng_stream(SEED, "bound");
    int32_t step[CASE_ROWS_MAX];
    int n_feasible = 0;

    (void)state;
    print_message("# seed %d\n", SEED);
    for (int i = 0; i < N_CASES; i++) {
        const struct reduced *r;
        struct hull_result found;
        int64_t optimum;

        alloc_case_random(&problem, &rng, (enum case_shape)(i % CASE_SHAPE_MAX), &range);
        r = alloc_lab_reduce(&problem.problem);
        if (!r)
            continue;
        n_feasible++;
        found = alloc_lab_hull(r, step);
        assert_true(weigh(r, step) == found.gain);
        optimum = alloc_lab_dp(r, step);
        assert_true(found.gain <= optimum);
        assert_true(optimum <= found.bound);
    }
    assert_true(n_feasible > N_CASES / 4);
}

static void striking_out_loses_no_better_solution(void **state)
{
    const struct case_range range = {12, 8, 60};
    struct rng rng = rng_stream(SEED, "strike");
    int32_t step[CASE_ROWS_MAX];
    int n_better = 0, n_smaller = 0;

    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        struct reduced *r;
        struct hull_result found;
        int64_t optimum, base, work;
        bool is_open;

        alloc_case_random(&problem, &rng, i % 2 ? CASE_WILD : CASE_REAL, &range);
        r = alloc_lab_reduce(&problem.problem);
        if (!r)
            continue;
        found = alloc_lab_hull(r, step);
        if (found.gain == found.bound)
            continue;
        base = r->base;
        optimum = alloc_lab_dp(r, step);
        work = dp_measure(r).work;
        is_open = hull_strike(r, &found);
        if (optimum > found.gain) {
            assert_true(is_open);
            assert_true(r->base + alloc_lab_dp(r, step) == base + optimum);
            assert_true(r->base + weigh(r, step) == base + optimum);
            n_better++;
        } else if (is_open) {
            assert_true(r->base + alloc_lab_dp(r, step) <= base + optimum);
        }
        n_smaller += is_open && dp_measure(r).work < work;
    }
    assert_true(n_better > 100);
    assert_true(n_smaller > 100);
}

static void hull_is_exact_where_gains_fall(void **state)
{
    const struct case_range range = {40, 16, 300};
    struct rng rng = rng_stream(SEED, "concave");
    int32_t step[CASE_ROWS_MAX];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        const struct reduced *r;
        struct hull_result found;

        alloc_case_random(&problem, &rng, CASE_CONCAVE, &range);
        r = alloc_lab_reduce(&problem.problem);
        if (!r)
            continue;
        found = alloc_lab_hull(r, step);
        assert_true(found.gain == found.bound);
        assert_true(found.gain == alloc_lab_dp(r, step));
    }
}

/* Devices one by one would stop at the dip; seed-paper 6.1, row 8. */
static void hull_sees_across_a_dip(void **state)
{
    const struct alloc_option dip[] = {{1, 100}, {2, 60}, {3, 90}, {4, 180}};
    const struct alloc_row row = {.options = dip, .n_options = 4};
    const struct alloc_problem p = {&row, 1, 4};
    int32_t step[1];
    const struct reduced *r = alloc_lab_reduce(&p);

    (void)state;
    assert_int_equal(alloc_lab_hull(r, step).gain, 80 * 2);
    assert_int_equal(r->steps[step[0]].size, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hull_never_passes_its_bound_nor_its_bound_the_optimum),
        cmocka_unit_test(striking_out_loses_no_better_solution),
        cmocka_unit_test(hull_is_exact_where_gains_fall),
        cmocka_unit_test(hull_sees_across_a_dip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
