/* SPDX-License-Identifier: Apache-2.0 */
/* many_test.c - each shape of problem, many times (SMALL_CASES and MIDDLE_CASES, from
 * src/core/meson.build). */
#include "core/alloc/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/err.h"
#include "core/alloc/sample.h"
#include "support/alloc_cases.h"

#define SEED 19950101

static struct alloc_case problem;
static struct alloc_scratch scratch;

/* Shapes of sample.h first, then those of alloc_cases.h. */
#define N_SHAPES (SAMPLE_SHAPE_MAX + CASE_SHAPE_MAX)

static void make_case(int shape, struct rng *rng, const struct case_range *range)
{
    if (shape < SAMPLE_SHAPE_MAX)
        alloc_case_sample(&problem, rng, (enum sample_shape)shape, range);
    else
        alloc_case_random(&problem, rng, (enum case_shape)(shape - SAMPLE_SHAPE_MAX),
                          range);
}

/* The solver's answer is the expected one, and its price proves that where it says so.
 * Returns whether there was an answer. */
static bool check_case(const struct case_answer *expected)
{
    const struct alloc_problem *p = &problem.problem;
    int32_t sizes[CASE_ROWS_MAX];
    struct alloc_result result;
    int rc = alloc_solve(p, &scratch, sizes, &result);
    int64_t factor = 1;

    assert_int_equal(rc, expected->is_feasible ? 0 : E_INFEASIBLE);
    assert_int_equal(alloc_shortage(p) <= 0, expected->is_feasible);
    if (rc < 0)
        return false;
    while (factor <= p->n_rows)
        factor *= 2;
    assert_true(result.objective == expected->value * factor + expected->unchanged);
    assert_true(result.value == expected->value);
    assert_int_equal(result.unchanged, expected->unchanged);
    assert_true(result.is_certified);
    assert_true(result.bound == result.objective);
    if (result.proof == ALLOC_PROOF_LP) {
        assert_true(alloc_check_lp(p, &result));
        result.bound = --result.objective;
        assert_false(alloc_check_lp(p, &result));
    }
    return true;
}

static void small_problems_of_every_shape_equal_brute_force(void **state)
{
    const struct case_range range = {4, 5, 16};

    (void)state;
    for (int shape = 0; shape < N_SHAPES; shape++) {
        struct rng rng = rng_stream(SEED + (uint64_t)shape, "small");
        int n_feasible = 0;

        print_message("# seed %d + %d: %d cases\n", SEED, shape, SMALL_CASES);
        for (int i = 0; i < SMALL_CASES; i++) {
            struct case_answer expected;

            make_case(shape, &rng, &range);
            expected = alloc_case_brute(&problem.problem);
            n_feasible += check_case(&expected);
        }
        assert_true(n_feasible > SMALL_CASES / 4);
    }
}

static void middle_problems_of_every_shape_equal_the_recurrence(void **state)
{
    const struct case_range range = {CASE_ROWS_MAX, 32, 700};

    (void)state;
    for (int shape = 0; shape < N_SHAPES; shape++) {
        struct rng rng = rng_stream(SEED + (uint64_t)shape, "middle");
        int n_feasible = 0;

        for (int i = 0; i < MIDDLE_CASES; i++) {
            struct case_answer expected;

            make_case(shape, &rng, &range);
            expected = alloc_case_recurrence(&problem.problem);
            n_feasible += check_case(&expected);
        }
        assert_true(n_feasible > MIDDLE_CASES / 4);
    }
}

static int release_scratch(void **state)
{
    (void)state;
    alloc_scratch_release(&scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_problems_of_every_shape_equal_brute_force),
        cmocka_unit_test(middle_problems_of_every_shape_equal_the_recurrence),
    };

    return cmocka_run_group_tests(tests, NULL, release_scratch);
}
