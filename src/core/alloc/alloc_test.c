/* SPDX-License-Identifier: Apache-2.0 */
#include "core/alloc/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/units.h"
#include "support/alloc_cases.h"
#include "support/mem_fault.h"

#define SEED 20200611

static struct alloc_case problem;
static struct alloc_scratch scratch;
static int32_t sizes[CASE_ROWS_MAX];

/* Solves and holds the answer against the rows and against itself. */
static int solve(const struct alloc_problem *p, struct alloc_result *ret)
{
    int rc = alloc_solve(p, &scratch, sizes, ret);
    int64_t value = 0, factor = 1;
    int32_t used = 0, unchanged = 0;

    assert_int_equal(rc == 0, alloc_is_feasible(p));
    if (rc < 0)
        return rc;
    for (int32_t j = 0; j < p->n_rows; j++) {
        const struct alloc_row *row = &p->rows[j];
        bool is_allowed = sizes[j] == 0 && row->may_wait;

        for (int32_t i = 0; i < row->n_options; i++)
            if (row->options[i].size == sizes[j]) {
                value += row->options[i].value;
                is_allowed = true;
            }
        assert_true(is_allowed);
        used += sizes[j];
        unchanged += sizes[j] == row->held;
    }
    while (factor <= p->n_rows)
        factor *= 2;
    assert_true(used <= p->devices);
    assert_int_equal(ret->used, used);
    assert_int_equal(ret->unchanged, unchanged);
    assert_true(ret->value == value);
    assert_true(ret->objective == value * factor + unchanged);
    assert_true(ret->objective <= ret->bound);
    assert_int_equal(ret->is_certified, ret->objective == ret->bound);
    assert_int_equal(ret->is_certified, ret->proof != ALLOC_PROOF_NONE);
    return 0;
}

/* seed-paper 6.2: S(k) of jobs A and B, in millionths. */
static const struct alloc_option job_a[] = {
    {1, 1000000}, {2, 1266055}, {3, 1692098}, {4, 2139535}};
static const struct alloc_option job_b[] = {
    {1, 1000000}, {2, 528736}, {3, 452919}, {4, 424615}};

static void the_golden_example_comes_out(void **state)
{
    static const struct {
        int32_t devices, a, b;
        int64_t value;
    } expected[] = {
        {2, 1, 1, 2000000}, {3, 2, 1, 2266055}, {4, 3, 1, 2692098},
        {5, 4, 1, 3139535}, {6, 4, 1, 3139535}, {8, 4, 1, 3139535},
    };
    const struct alloc_row rows[] = {{.options = job_a, .n_options = 4, .held = -1},
                                     {.options = job_b, .n_options = 4, .held = -1}};
    struct alloc_problem p = {rows, 2, 1};
    struct alloc_result result;

    (void)state;
    assert_int_equal(solve(&p, &result), E_INFEASIBLE);
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        p.devices = expected[i].devices;
        assert_int_equal(solve(&p, &result), 0);
        assert_int_equal(sizes[0], expected[i].a);
        assert_int_equal(sizes[1], expected[i].b);
        assert_int_equal(result.value, expected[i].value);
        assert_int_equal(result.used, expected[i].a + expected[i].b);
        assert_true(result.is_certified);
    }
}

static void the_golden_example_with_fixed_batches_comes_out(void **state)
{
    /* Sizes that divide the batch: 256 and 256; 128 and 64; 32 and 16. */
    static const struct alloc_option a256[] = {{4, 2139535}};
    static const struct alloc_option b256[] = {{2, 528736}, {4, 424615}};
    static const struct alloc_option a128[] = {{2, 1266055}, {4, 1422681}};
    static const struct alloc_option b64[] = {{1, 932432}, {2, 161972}, {4, 114618}};
    static const struct alloc_option a32[] = {{1, 932432}, {2, 565579}, {4, 472657}};
    static const struct alloc_option b16[] = {{1, 663462}, {2, 42817}, {4, 29692}};
    static const struct {
        struct alloc_row rows[2];
        int32_t devices;
        int64_t value; /* 0: infeasible */
    } cases[] = {
        {{{a256, 1, -1, false}, {b256, 2, -1, false}}, 5, 0},
        {{{a256, 1, -1, false}, {b256, 2, -1, false}}, 6, 2668271},
        {{{a256, 1, -1, false}, {b256, 2, -1, false}}, 8, 2668271},
        {{{a128, 2, -1, false}, {b64, 3, -1, false}}, 2, 0},
        {{{a128, 2, -1, false}, {b64, 3, -1, false}}, 3, 2198487},
        {{{a128, 2, -1, false}, {b64, 3, -1, false}}, 4, 2198487},
        {{{a128, 2, -1, false}, {b64, 3, -1, false}}, 5, 2355113},
        {{{a32, 3, -1, false}, {b16, 3, -1, false}}, 1, 0},
        {{{a32, 3, -1, false}, {b16, 3, -1, false}}, 2, 1595894},
        {{{a32, 3, -1, false}, {b16, 3, -1, false}}, 8, 1595894},
    };
    struct alloc_result result;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct alloc_problem p = {cases[i].rows, 2, cases[i].devices};
        int rc = solve(&p, &result);

        assert_int_equal(rc, cases[i].value ? 0 : E_INFEASIBLE);
        if (rc == 0)
            assert_int_equal(result.value, cases[i].value);
    }
}

/* The four jobs of README.md: the greedy answer is A and C, the bound 49. */
static void the_example_of_the_search_comes_out(void **state)
{
    static const struct alloc_option options[] = {{3, 30}, {2, 18}, {1, 8}, {4, 38}};
    struct alloc_row rows[4];
    const struct alloc_problem p = {rows, 4, 5};
    struct alloc_result result;

    (void)state;
    for (int j = 0; j < 4; j++)
        rows[j] = (struct alloc_row){
            .options = &options[j], .n_options = 1, .held = -1, .may_wait = true};
    assert_int_equal(solve(&p, &result), 0);
    assert_int_equal(result.value, 48);
    assert_int_equal(result.proof, ALLOC_PROOF_SEARCH);
    assert_int_equal(sizes[0] + sizes[1], 5);
    assert_int_equal(result.price_gain, 38 * 8);
    assert_int_equal(result.price_devices, 4);
    result.objective = result.bound = 49 * 8;
    assert_true(alloc_check_lp(&p, &result)); /* of the bound, not of a solution */
}

/* Value first, then the most jobs that keep what they hold: properties 1, 3, 4, 6. */
static void solving_equals_brute_force(void **state)
{
    const struct case_range range = {4, 8, 8};
    struct rng rng = rng_stream(SEED, "brute");
    int n_feasible = 0, n_proofs[ALLOC_PROOF_LP + 1] = {0};

    (void)state;
    print_message("# seed %d\n", SEED);
    for (int i = 0; i < 30000; i++) {
        struct case_answer expected;
        struct alloc_result result;
        int rc;

        alloc_case_random(&problem, &rng, i % 4 ? CASE_WILD : CASE_REAL, &range);
        expected = alloc_case_brute(&problem.problem);
        rc = solve(&problem.problem, &result);
        assert_int_equal(rc, expected.is_feasible ? 0 : E_INFEASIBLE);
        if (rc < 0)
            continue;
        n_feasible++;
        n_proofs[result.proof]++;
        assert_true(result.value == expected.value);
        assert_int_equal(result.unchanged, expected.unchanged);
        assert_true(result.is_certified);
    }
    assert_in_range(n_feasible, 5000, 29000);
    assert_true(n_proofs[ALLOC_PROOF_LP] > 1000);
    assert_true(n_proofs[ALLOC_PROOF_SEARCH] > 1000);
}

static void solving_equals_the_recurrence_of_the_paper(void **state)
{
    const struct case_range range = {100, 24, 500};
    struct rng rng = rng_stream(SEED, "recurrence");
    int n_feasible = 0;

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct case_answer expected;
        struct alloc_result result;

        alloc_case_random(&problem, &rng, (enum case_shape)(i % CASE_SHAPE_MAX), &range);
        expected = alloc_case_recurrence(&problem.problem);
        assert_int_equal(solve(&problem.problem, &result) == 0, expected.is_feasible);
        if (!expected.is_feasible)
            continue;
        n_feasible++;
        assert_true(result.value == expected.value);
        assert_int_equal(result.unchanged, expected.unchanged);
        assert_true(result.is_certified);
    }
    assert_true(n_feasible > 100);
}

static void the_order_of_rows_leaves_the_objective_unchanged(void **state)
{
    const struct case_range range = {40, 10, 200};
    struct rng rng = rng_stream(SEED, "order");

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct alloc_result before, after;
        int32_t n;

        alloc_case_random(&problem, &rng, (enum case_shape)(i % CASE_SHAPE_MAX), &range);
        n = problem.problem.n_rows;
        if (solve(&problem.problem, &before) < 0)
            continue;
        for (int32_t j = n - 1; j > 0; j--) {
            int32_t k = (int32_t)rng_below(&rng, (uint64_t)j + 1);
            struct alloc_row row = problem.rows[j];

            problem.rows[j] = problem.rows[k];
            problem.rows[k] = row;
        }
        assert_int_equal(solve(&problem.problem, &after), 0);
        assert_true(after.objective == before.objective);
        assert_true(after.bound == before.bound);
    }
}

/* The case at hand with ever more devices: once feasible always feasible, never worse. */
static void check_more_devices(int32_t devices_max)
{
    struct alloc_result result;
    int64_t last = INT64_MIN;

    for (int32_t k = 0; k <= devices_max; k++) {
        problem.problem.devices = k;
        if (solve(&problem.problem, &result) < 0) {
            assert_true(last == INT64_MIN);
            continue;
        }
        assert_true(result.objective >= last);
        last = result.objective;
    }
}

static void more_devices_never_lower_the_objective(void **state)
{
    const struct case_range range = {12, 10, 0};
    struct rng rng = rng_stream(SEED, "devices");

    (void)state;
    for (int i = 0; i < 200; i++) {
        alloc_case_random(&problem, &rng, (enum case_shape)(i % CASE_SHAPE_MAX), &range);
        check_more_devices(130);
    }
}

/* Property 9: a job that is held to part of its row never adds to the sum. */
static void less_choice_never_helps(void **state)
{
    const struct case_range range = {20, 10, 100};
    struct rng rng = rng_stream(SEED, "choice");

    (void)state;
    for (int i = 0; i < 500; i++) {
        struct alloc_result free_choice, fixed;

        alloc_case_random(&problem, &rng, CASE_REAL, &range);
        if (solve(&problem.problem, &free_choice) < 0)
            continue;
        for (int32_t j = 0; j < problem.problem.n_rows; j++) {
            int32_t i_kept =
                (int32_t)rng_below(&rng, (uint64_t)problem.rows[j].n_options);

            problem.rows[j].options += i_kept;
            problem.rows[j].n_options -= i_kept;
            if (rng_below(&rng, 2))
                problem.rows[j].n_options = 1;
        }
        if (solve(&problem.problem, &fixed) == 0)
            assert_true(fixed.value <= free_choice.value);
    }
}

static void nobody_and_nothing_are_ordinary(void **state)
{
    const struct alloc_option one = {1, 7};
    struct alloc_row row = {.options = &one, .n_options = 1};
    struct alloc_problem p = {NULL, 0, 0};
    struct alloc_result result;

    (void)state;
    assert_int_equal(solve(&p, &result), 0);
    assert_int_equal(result.objective, 0);
    assert_true(result.is_certified);
    p = (struct alloc_problem){&row, 1, 0};
    assert_int_equal(solve(&p, &result), E_INFEASIBLE);
    row.may_wait = true;
    assert_int_equal(solve(&p, &result), 0);
    assert_int_equal(sizes[0], 0);
    assert_int_equal(result.unchanged, 1); /* held nothing, got nothing */
    row.n_options = 0;
    p.devices = 10;
    assert_int_equal(solve(&p, &result), 0);
    assert_int_equal(sizes[0], 0);
    row.may_wait = false;
    assert_int_equal(solve(&p, &result), E_INFEASIBLE);
}

static void sizes_above_the_cluster_are_passed_over(void **state)
{
    const struct alloc_option options[] = {{2, 5}, {3, 6}, {SIZE_MAX_DEVICES, VALUE_MAX}};
    struct alloc_row row = {.options = options, .n_options = 3};
    const struct alloc_problem p = {&row, 1, 3};
    struct alloc_result result;

    (void)state;
    assert_int_equal(solve(&p, &result), 0);
    assert_int_equal(sizes[0], 3);
    row.options = &options[2];
    row.n_options = 1;
    assert_int_equal(solve(&p, &result), E_INFEASIBLE);
    row.may_wait = true;
    assert_int_equal(solve(&p, &result), 0);
    assert_int_equal(sizes[0], 0);
}

/* A very bad value is a value, and no sum may hide it (seed-paper 11, row 4). */
static void the_worst_value_is_not_infeasible(void **state)
{
    const struct alloc_option bad[] = {{1, -VALUE_MAX}};
    const struct alloc_option good[] = {{1, VALUE_MAX}, {3, VALUE_MAX - 1}};
    const struct alloc_row rows[] = {{.options = bad, .n_options = 1},
                                     {.options = good, .n_options = 2},
                                     {.options = bad, .n_options = 1, .may_wait = true}};
    const struct alloc_problem p = {rows, 3, 9};
    struct alloc_result result;

    (void)state;
    assert_int_equal(solve(&p, &result), 0);
    assert_int_equal(sizes[0], 1);
    assert_int_equal(sizes[1], 1);
    assert_int_equal(sizes[2], 0);
    assert_int_equal(result.value, 0);
}

/* A size that is not in the row has no value, not the value 0 (row 3): with values below
 * 0 all around, a gap taken for 0 would look best. */
static void r17_a_size_that_is_missing_is_never_given(void **state)
{
    const struct alloc_option options[] = {{1, -30}, {4, -10}};
    const struct alloc_row row = {.options = options, .n_options = 2};
    struct alloc_problem p = {&row, 1, 3};
    struct alloc_result result;

    (void)state;
    assert_int_equal(solve(&p, &result), 0);
    assert_int_equal(sizes[0], 1);
    p.devices = 4;
    assert_int_equal(solve(&p, &result), 0);
    assert_int_equal(sizes[0], 4);
}

/* Lower bounds are part of the recurrence, not checked afterwards (row 5). */
static void a_least_size_holds_against_any_gain(void **state)
{
    const struct alloc_option needs_three[] = {{3, 1}, {4, 2}};
    const struct alloc_option greedy[] = {{1, 10}, {2, 1000}, {3, 2000}};
    const struct alloc_row rows[] = {{.options = greedy, .n_options = 3},
                                     {.options = needs_three, .n_options = 2}};
    struct alloc_problem p = {rows, 2, 5};
    struct alloc_result result;

    (void)state;
    assert_int_equal(solve(&p, &result), 0);
    assert_int_equal(sizes[0], 2);
    assert_int_equal(sizes[1], 3);
    p.devices = 3;
    assert_int_equal(solve(&p, &result), E_INFEASIBLE);
}

static void jobs_keep_what_they_hold_where_value_does_not_mind(void **state)
{
    const struct alloc_option linear[] = {{1, 10}, {2, 20}, {3, 30}, {4, 40}};
    struct alloc_row rows[] = {{.options = linear, .n_options = 4, .held = 1},
                               {.options = linear, .n_options = 4, .held = 4},
                               {.options = linear, .n_options = 4, .held = 2}};
    const struct alloc_problem p = {rows, 3, 7};
    struct alloc_result result;

    (void)state;
    assert_int_equal(solve(&p, &result), 0);
    assert_int_equal(result.unchanged, 3);
    assert_int_equal(sizes[0], 1);
    assert_int_equal(sizes[1], 4);
    assert_int_equal(sizes[2], 2);
    rows[1].held = 3; /* now one device is free, and only one job needs to change */
    assert_int_equal(solve(&p, &result), 0);
    assert_int_equal(result.value, 70);
    assert_int_equal(result.unchanged, 2);
}

static void used_scratch_gives_the_answer_of_fresh_scratch(void **state)
{
    struct rng rng = rng_stream(SEED, "scratch");
    struct case_range range = {0, 16, 400};
    int32_t cold_sizes[CASE_ROWS_MAX];

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct alloc_result warm, cold;
        struct alloc_scratch fresh;
        int rc;

        range.rows = (int32_t)rng_below(&rng, 60);
        alloc_case_random(&problem, &rng, (enum case_shape)(i % CASE_SHAPE_MAX), &range);
        alloc_scratch_init(&fresh);
        memset(&cold, 0, sizeof cold);
        memset(&warm, 0, sizeof warm);
        rc = alloc_solve(&problem.problem, &fresh, cold_sizes, &cold);
        assert_int_equal(solve(&problem.problem, &warm), rc);
        if (rc == 0) {
            assert_memory_equal(sizes, cold_sizes,
                                (size_t)problem.problem.n_rows * sizeof sizes[0]);
            assert_true(warm.objective == cold.objective && warm.bound == cold.bound);
            assert_int_equal(warm.proof, cold.proof);
        }
        alloc_scratch_release(&fresh);
    }
}

static void a_solve_in_the_steady_state_allocates_nothing(void **state)
{
    struct rng rng = rng_stream(SEED, "steady");
    const struct case_range range = {60, 16, 400};
    struct alloc_result result;

    (void)state;
    do
        alloc_case_random(&problem, &rng, CASE_REAL, &range);
    while (solve(&problem.problem, &result) < 0);
    mem_fault_arm(1);
    assert_int_equal(solve(&problem.problem, &result), 0);
    assert_false(mem_fault_disarm());
    assert_int_equal(mem_fault_calls(), 0);
}

/* Whatever allocation fails, the results are untouched and the scratch is good. */
static void no_memory_leaves_the_results_untouched(void **state)
{
    const struct alloc_option gaps[] = {{2, 20}, {4, 40}, {5, 41}};
    struct alloc_row rows[3];
    const struct alloc_problem p = {rows, 3, 9};
    struct alloc_scratch fresh;
    uint64_t nth = 0;
    int rc;

    (void)state;
    for (int j = 0; j < 3; j++)
        rows[j] = (struct alloc_row){.options = gaps, .n_options = 3, .held = 4 - j};
    do {
        struct alloc_result result = {.value = -99, .used = 77};
        int32_t given[3] = {-1, -2, -3};

        alloc_scratch_init(&fresh);
        mem_fault_arm(++nth);
        rc = alloc_solve(&p, &fresh, given, &result);
        if (mem_fault_disarm()) {
            assert_int_equal(rc, E_NOMEM);
            assert_int_equal(result.value, -99);
            assert_int_equal(result.used, 77);
            assert_true(given[0] == -1 && given[1] == -2 && given[2] == -3);
            /* the scratch is still good */
            assert_int_equal(alloc_solve(&p, &fresh, given, &result), 0);
        }
        assert_int_equal(rc == 0 || rc == E_NOMEM, 1);
        assert_int_equal(given[0] + given[1] + given[2], 9);
        alloc_scratch_release(&fresh);
    } while (rc < 0);
    assert_true(nth > 10);
}

/* The largest sums that limits.h allows; the sanitizer watches them. */
static void the_largest_problem_does_not_overflow(void **state)
{
    static struct alloc_row rows[JOBS_MAX];
    static int32_t given[JOBS_MAX];
    const struct alloc_option wide[] = {
        {1, -VALUE_MAX}, {2, VALUE_MAX - 1}, {5, VALUE_MAX}};
    struct alloc_problem p = {rows, JOBS_MAX, 2 * JOBS_MAX};
    struct alloc_result result;

    (void)state;
    for (int32_t j = 0; j < JOBS_MAX; j++)
        rows[j] = (struct alloc_row){.options = wide, .n_options = 3, .held = 2};
    assert_int_equal(alloc_solve(&p, &scratch, given, &result), 0);
    assert_true(result.value == (int64_t)JOBS_MAX * (VALUE_MAX - 1));
    assert_true(result.objective == result.value * 2 * JOBS_MAX + JOBS_MAX);
    p.devices = JOBS_MAX;
    assert_int_equal(alloc_solve(&p, &scratch, given, &result), 0);
    assert_true(result.value == -(int64_t)JOBS_MAX * VALUE_MAX);
    p.devices = 5 * JOBS_MAX;
    assert_int_equal(alloc_solve(&p, &scratch, given, &result), 0);
    assert_true(result.value == (int64_t)JOBS_MAX * VALUE_MAX);
    assert_true(result.is_certified);
}

/* Replicas of eight devices: what is left of a cluster of 1001 does not blur the bound.
 */
static void replicas_are_settled_without_a_search(void **state)
{
    const struct alloc_option options[] = {{8, 800}, {16, 1600}, {32, 3200}};
    struct alloc_row rows[100];
    const struct alloc_problem p = {rows, 100, 1001};
    struct alloc_result result;

    (void)state;
    for (int j = 0; j < 100; j++)
        rows[j] = (struct alloc_row){.options = options, .n_options = 3, .held = -1};
    assert_int_equal(solve(&p, &result), 0);
    assert_int_equal(result.value, 100000);
    assert_int_equal(result.proof, ALLOC_PROOF_LP);
}

/* Nearly all gains have the same slope and no sum of their sizes is odd, but the bound
 * counts on the odd device, because a hundred rows could take it at a loss: nothing can
 * be ruled out. Too much to search, and the answer says so. */
static void beyond_the_budget_nothing_is_claimed(void **state)
{
    enum { N = 4000 };
    static struct alloc_option options[N];
    static struct alloc_row rows[N];
    static int32_t given[N];
    const struct alloc_problem p = {rows, N, DEVICES_MAX - 1};
    struct rng rng = rng_stream(SEED, "budget");
    struct alloc_result result;
    int64_t used = 0, value = 0;

    (void)state;
    for (int32_t j = 0; j < N; j++) {
        int32_t size = 4096 + 2 * (int32_t)rng_below(&rng, 2049);

        options[j] = (struct alloc_option){size, (int64_t)size * 1000};
        rows[j] = (struct alloc_row){
            .options = &options[j], .n_options = 1, .held = -1, .may_wait = true};
    }
    for (int32_t j = 0; j < 100; j++)
        options[j] = (struct alloc_option){1, 1};
    assert_int_equal(alloc_solve(&p, &scratch, given, &result), 0);
    assert_false(result.is_certified);
    assert_int_equal(result.proof, ALLOC_PROOF_NONE);
    assert_true(result.objective < result.bound);
    assert_true(result.bound <= 4096 * (int64_t)(DEVICES_MAX - 1) * 1000);
    assert_false(alloc_check_lp(&p, &result));
    for (int32_t j = 0; j < N; j++) {
        used += given[j];
        value += given[j] > 0 ? options[j].value : 0;
    }
    assert_true(used <= DEVICES_MAX - 1);
    assert_true(result.value == value);
    assert_true(value > (int64_t)(DEVICES_MAX - 4096) * 1000);
}

/* With one such row, or ten, the grain of the others decides. */
static void a_few_odd_rows_are_no_trouble(void **state)
{
    enum { N = 4000 };
    static struct alloc_option options[N];
    static struct alloc_row rows[N];
    static int32_t given[N];
    const struct alloc_problem p = {rows, N, DEVICES_MAX - 1};
    struct rng rng = rng_stream(SEED, "grain");
    struct alloc_result result;

    (void)state;
    for (int32_t j = 0; j < N; j++) {
        int32_t size = 4096 + 2 * (int32_t)rng_below(&rng, 2049);

        options[j] = (struct alloc_option){size, (int64_t)size * 1000};
        if (j % 400 == 7)
            options[j] = (struct alloc_option){1, 1};
        rows[j] = (struct alloc_row){
            .options = &options[j], .n_options = 1, .held = -1, .may_wait = true};
    }
    assert_int_equal(alloc_solve(&p, &scratch, given, &result), 0);
    assert_true(result.is_certified);
    assert_int_equal(result.proof, ALLOC_PROOF_SEARCH);
    assert_true(result.value == (int64_t)(DEVICES_MAX - 2) * 1000 + 1);
}

static int release_scratch(void **state)
{
    (void)state;
    alloc_scratch_release(&scratch);
    return mem_fault_blocks() == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_golden_example_comes_out),
        cmocka_unit_test(the_golden_example_with_fixed_batches_comes_out),
        cmocka_unit_test(the_example_of_the_search_comes_out),
        cmocka_unit_test(solving_equals_brute_force),
        cmocka_unit_test(solving_equals_the_recurrence_of_the_paper),
        cmocka_unit_test(the_order_of_rows_leaves_the_objective_unchanged),
        cmocka_unit_test(more_devices_never_lower_the_objective),
        cmocka_unit_test(less_choice_never_helps),
        cmocka_unit_test(nobody_and_nothing_are_ordinary),
        cmocka_unit_test(sizes_above_the_cluster_are_passed_over),
        cmocka_unit_test(the_worst_value_is_not_infeasible),
        cmocka_unit_test(r17_a_size_that_is_missing_is_never_given),
        cmocka_unit_test(a_least_size_holds_against_any_gain),
        cmocka_unit_test(jobs_keep_what_they_hold_where_value_does_not_mind),
        cmocka_unit_test(used_scratch_gives_the_answer_of_fresh_scratch),
        cmocka_unit_test(a_solve_in_the_steady_state_allocates_nothing),
        cmocka_unit_test(no_memory_leaves_the_results_untouched),
        cmocka_unit_test(the_largest_problem_does_not_overflow),
        cmocka_unit_test(replicas_are_settled_without_a_search),
        cmocka_unit_test(beyond_the_budget_nothing_is_claimed),
        cmocka_unit_test(a_few_odd_rows_are_no_trouble),
    };

    return cmocka_run_group_tests(tests, NULL, release_scratch);
}
