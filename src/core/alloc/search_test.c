/* SPDX-License-Identifier: Apache-2.0 */
/* The search where its budget ends early, and what happens after that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/alloc/sample.h"
#include "core/alloc/solver.h"
#include "support/alloc_cases.h"
#include "support/alloc_lab.h"

#define SEED    1995
#define N_CASES 6000

static struct alloc_case problem;

/* The search once more on a solver that has solved, with another budget. */
static struct search_result search_again(struct solver *s, int64_t budget)
{
    struct search_result found;

    relax_select(s);
    for (int32_t j = 0; j < s->n_rows; j++)
        s->curves[j].is_joined = false;
    assert_int_equal(search_run(s, budget, &found), 0);
    return found;
}

static void wherever_the_budget_ends_the_bound_holds(void **state)
{
    const struct case_range range = {40, 16, 300};
    struct rng rng = rng_stream(SEED, "budget");
    int n_incomplete = 0, n_below = 0;

    (void)state;
    print_message("# seed %d\n", SEED);
    for (int i = 0; i < N_CASES; i++) {
        struct alloc_result result;
        struct search_result found;
        struct solver *s;
        int64_t optimum;

        if (i % 2)
            alloc_case_random(&problem, &rng, (enum case_shape)(i / 2 % CASE_SHAPE_MAX),
                              &range);
        else
            alloc_case_sample(&problem, &rng,
                              (enum sample_shape)(i / 2 % SAMPLE_SHAPE_MAX), &range);
        s = alloc_lab_solver(&problem.problem, &result);
        if (!s)
            continue;
        optimum = result.objective - s->base - s->gain;
        found = search_again(s, rng_between(&rng, 1, 400));
        assert_true(found.gain <= optimum);
        assert_true(optimum <= found.bound);
        if (found.is_complete)
            assert_true(found.gain == optimum);
        n_incomplete += !found.is_complete;
        n_below += found.gain < optimum;
    }
    assert_true(n_incomplete > N_CASES / 10);
    assert_true(n_below > N_CASES / 100);
}

/* Equal slopes, one device that only many rows could take at a loss: too many states for
 * the search, few enough cells for the recurrence. */
static void the_recurrence_takes_over_where_it_can(void **state)
{
    enum { N = 24000 };
    static const struct alloc_option even[] = {{2, 200}, {4, 400}, {6, 600}, {8, 800}};
    static const struct alloc_option odd[] = {{1, 1}};
    static struct alloc_row rows[N];
    static int32_t sizes[N];
    const struct alloc_problem p = {rows, N, 1001};
    struct alloc_scratch scratch;
    struct alloc_result result;

    (void)state;
    for (int32_t j = 0; j < N; j++) {
        rows[j] = (struct alloc_row){
            .options = even, .n_options = 4, .held = -1, .may_wait = true};
        if (j % 200 == 0) {
            rows[j].options = odd;
            rows[j].n_options = 1;
        }
    }
    alloc_scratch_init(&scratch);
    assert_int_equal(alloc_solve(&p, &scratch, sizes, &result), 0);
    assert_non_null(scratch.solver->dense);
    assert_true(result.is_certified);
    assert_int_equal(result.proof, ALLOC_PROOF_SEARCH);
    assert_int_equal(result.value, 100001);
    alloc_scratch_release(&scratch);
}

static int release(void **state)
{
    (void)state;
    alloc_lab_release();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wherever_the_budget_ends_the_bound_holds),
        cmocka_unit_test(the_recurrence_takes_over_where_it_can),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
