/* SPDX-License-Identifier: Apache-2.0 */
#include "core/alloc/dp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/err.h"
#include "support/alloc_cases.h"
#include "support/alloc_lab.h"

#define SEED 2006

static struct alloc_case problem;
static int32_t step[CASE_ROWS_MAX];

/* The recurrence alone, on problems that nothing has made smaller. */
static void check_against_recurrence(enum case_shape shape,
                                     const struct case_range *range, int n_cases)
{
    struct rng rng = rng_stream(SEED, "dp");
    int n_feasible = 0;

    print_message("# seed %d, shape %d\n", SEED, shape);
    for (int i = 0; i < n_cases; i++) {
        struct case_answer expected;
        const struct reduced *r;
        int64_t factor;

        alloc_case_random(&problem, &rng, shape, range);
        factor = reduced_factor(problem.problem.n_rows);
        expected = alloc_case_recurrence(&problem.problem);
        r = alloc_lab_reduce(&problem.problem);
        assert_int_equal(r != NULL, expected.is_feasible);
        if (!expected.is_feasible)
            continue;
        n_feasible++;
        assert_true(r->base + alloc_lab_dp(r, step) ==
                    expected.value * factor + expected.unchanged);
    }
    assert_true(n_feasible > n_cases / 10);
}

static void dp_equals_the_recurrence_on_small_problems(void **state)
{
    const struct case_range range = {4, 8, 8};

    (void)state;
    check_against_recurrence(CASE_WILD, &range, 20000);
}

static void dp_equals_the_recurrence_on_middle_problems(void **state)
{
    const struct case_range range = {30, 20, 400};

    (void)state;
    check_against_recurrence(CASE_WILD, &range, 300);
    check_against_recurrence(CASE_REAL, &range, 300);
    check_against_recurrence(CASE_CONCAVE, &range, 300);
}

static void more_room_never_gains_less(void **state)
{
    const struct case_range range = {10, 12, 90};
    struct rng rng = rng_stream(SEED, "room");

    (void)state;
    for (int i = 0; i < 100; i++) {
        struct alloc_problem p;
        const struct reduced *r;
        int64_t last = INT64_MIN;

        alloc_case_random(&problem, &rng, CASE_WILD, &range);
        p = problem.problem;
        for (p.devices = 0; p.devices <= 120; p.devices++) {
            r = alloc_lab_reduce(&p);
            if (!r)
                continue;
            assert_true(r->base + alloc_lab_dp(r, step) >= last);
            last = r->base + alloc_lab_dp(r, step);
        }
    }
}

/* One device for two equal rows: the tie leaves the later row at its least. */
static void a_tie_goes_to_the_earlier_row(void **state)
{
    const struct alloc_option same[] = {{1, 10}, {2, 20}};
    const struct alloc_row rows[] = {
        {.options = same, .n_options = 2, .held = 9},
        {.options = same, .n_options = 2, .held = 9},
    };
    const struct alloc_problem p = {rows, 2, 3};
    const struct reduced *r = alloc_lab_reduce(&p);

    (void)state;
    assert_int_equal(alloc_lab_dp(r, step), 10 * 4);
    assert_int_equal(r->steps[step[0]].size, 2);
    assert_int_equal(step[1], -1);
}

static void steps_that_a_smaller_one_beats_are_dropped(void **state)
{
    const struct alloc_option options[] = {{1, 5}, {2, 5}, {3, 9},
                                           {4, 9}, {5, 8}, {6, 10}};
    const struct alloc_row row = {.options = options, .n_options = 6, .held = 9};
    const struct alloc_problem p = {&row, 1, 6};
    const struct reduced *r = alloc_lab_reduce(&p);

    (void)state;
    assert_int_equal(r->end[0] - r->first[0], 2);
    assert_int_equal(r->steps[r->first[0]].size, 3);
    assert_int_equal(r->steps[r->first[0] + 1].size, 6);
}

static void equal_gains_go_to_the_smaller_size(void **state)
{
    const struct alloc_option flat[] = {{1, 10}, {2, 20}, {3, 20}, {5, 20}};
    const struct alloc_row rows[] = {
        {.options = flat, .n_options = 4, .held = 9},
        {.options = flat, .n_options = 4, .held = 9},
    };
    const struct alloc_problem p = {rows, 2, 10};
    const struct reduced *r;

    (void)state;
    r = alloc_lab_reduce(&p);
    assert_int_equal(r->base + alloc_lab_dp(r, step), 40 * 4);
    assert_int_equal(r->steps[step[0]].size, 2);
    assert_int_equal(r->steps[step[1]].size, 2);
}

/* With three devices too few or too many there is nothing to search. */
static void windows_shrink_where_there_is_no_choice(void **state)
{
    const struct alloc_option options[] = {{1, 1}, {2, 2}, {4, 3}};
    struct alloc_row rows[10];
    struct alloc_problem p = {rows, 10, 1000};
    const struct reduced *r;

    (void)state;
    for (int j = 0; j < 10; j++)
        rows[j] = (struct alloc_row){.options = options, .n_options = 3};
    r = alloc_lab_reduce(&p);
    assert_int_equal(dp_measure(r).cells, 10);
    assert_int_equal(dp_measure(r).room, 30);
    p.devices = 10;
    r = alloc_lab_reduce(&p);
    assert_int_equal(dp_measure(r).cells, 10);
    p.devices = 25;
    r = alloc_lab_reduce(&p);
    assert_true(dp_measure(r).cells < 10 * 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dp_equals_the_recurrence_on_small_problems),
        cmocka_unit_test(dp_equals_the_recurrence_on_middle_problems),
        cmocka_unit_test(more_room_never_gains_less),
        cmocka_unit_test(a_tie_goes_to_the_earlier_row),
        cmocka_unit_test(steps_that_a_smaller_one_beats_are_dropped),
        cmocka_unit_test(equal_gains_go_to_the_smaller_size),
        cmocka_unit_test(windows_shrink_where_there_is_no_choice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
