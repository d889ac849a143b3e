/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/observe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void add(struct observe *o, int32_t micro_batch, const int64_t *values, int n)
{
    for (int i = 0; i < n; i++)
        observe_add(o, SHIM_OBSERVED_MICRO, micro_batch, values[i]);
}

static void observe_does_not_count_warm_up(void **state)
{
    static const int64_t values[] = {9000, 4000, 1000, 1100, 1050, 1020};
    struct observe o = {0};
    struct observe_summary sum;

    (void)state;
    add(&o, 32, values, 4);
    assert_false(observe_take(&o, &sum)); /* 4000, 1000, 1100 do not agree */
    add(&o, 32, values + 4, 2);
    assert_true(observe_take(&o, &sum));
    assert_int_equal(sum.micro_batch, 32);
    assert_int_equal(sum.count, 4);
    assert_int_equal(sum.median_ns, 1020);
    assert_false(sum.is_noisy);
    assert_false(observe_take(&o, &sum));
}

static void observe_agrees_within_twenty_percent_and_not_beyond(void **state)
{
    static const int64_t near[] = {1000, 1200, 1100};
    static const int64_t far[] = {1000, 1201, 1100};
    struct observe o = {0};
    struct observe_summary sum;

    (void)state;
    add(&o, 1, far, 3);
    assert_false(observe_take(&o, &sum));
    add(&o, 2, near, 3);
    assert_true(observe_take(&o, &sum));
    assert_int_equal(sum.micro_batch, 2);
}

static void observe_knows_a_step_once_two_in_a_row_agree(void **state)
{
    static const int64_t values[] = {9000, 1000, 1300, 1250, 400};
    struct observe o = {0};

    (void)state;
    assert_int_equal(observe_step_ns(&o), 0);
    for (int i = 0; i < 3; i++)
        observe_add(&o, SHIM_OBSERVED_STEP, 0, values[i]);
    add(&o, 8, (const int64_t[]){77, 77}, 2); /* these are no steps */
    assert_int_equal(observe_step_ns(&o), 0);
    observe_add(&o, SHIM_OBSERVED_STEP, 0, values[3]);
    observe_add(&o, SHIM_OBSERVED_STEP, 0, values[4]);
    assert_int_equal(observe_step_ns(&o), 1250);
}

static void observe_takes_the_median_of_steps_that_never_agree(void **state)
{
    struct observe o = {0};

    (void)state;
    for (int i = 0; i < OBSERVE_SETTLE_MAX; i++) {
        assert_int_equal(observe_step_ns(&o), 0);
        observe_add(&o, SHIM_OBSERVED_STEP, 0, i % 2 ? 1000 : 3000);
    }
    assert_int_equal(observe_step_ns(&o), 1000);
}

static void observe_gives_up_waiting_and_says_noisy(void **state)
{
    struct observe o = {0};
    struct observe_summary sum;

    (void)state;
    for (int i = 0; i < OBSERVE_SETTLE_MAX - 1; i++) {
        observe_add(&o, SHIM_OBSERVED_STEP, 0, i % 2 ? 1000 : 3000);
        assert_false(observe_take(&o, &sum));
    }
    observe_add(&o, SHIM_OBSERVED_STEP, 0, 1000);
    assert_true(observe_take(&o, &sum));
    assert_true(sum.is_noisy);
    assert_int_equal(sum.count, OBSERVE_SETTLE_MAX);
}

static void observe_keeps_the_newest_values_of_a_long_window(void **state)
{
    struct observe o = {0};
    struct observe_summary sum;

    (void)state;
    for (int i = 0; i < 3; i++)
        observe_add(&o, SHIM_OBSERVED_COMM, 0, 500);
    for (int i = 0; i < 2 * OBSERVE_WINDOW; i++)
        observe_add(&o, SHIM_OBSERVED_COMM, 0, 700);
    assert_true(observe_take(&o, &sum));
    assert_int_equal(sum.count, OBSERVE_WINDOW);
    assert_int_equal(sum.median_ns, 700);
}

static void observe_drops_nonsense_and_kinds_beyond_its_limit(void **state)
{
    struct observe o = {0};

    (void)state;
    observe_add(&o, SHIM_OBSERVED_MAX, 1, 1);
    observe_add(&o, SHIM_OBSERVED_STEP, -1, 1);
    observe_add(&o, SHIM_OBSERVED_STEP, 0, 0);
    assert_int_equal(o.n_kinds, 0);
    for (int i = 0; i < 2 * OBSERVE_KINDS_MAX; i++)
        observe_add(&o, SHIM_OBSERVED_MICRO, i + 1, 1);
    assert_int_equal(o.n_kinds, OBSERVE_KINDS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(observe_does_not_count_warm_up),
        cmocka_unit_test(observe_agrees_within_twenty_percent_and_not_beyond),
        cmocka_unit_test(observe_knows_a_step_once_two_in_a_row_agree),
        cmocka_unit_test(observe_takes_the_median_of_steps_that_never_agree),
        cmocka_unit_test(observe_gives_up_waiting_and_says_noisy),
        cmocka_unit_test(observe_keeps_the_newest_values_of_a_long_window),
        cmocka_unit_test(observe_drops_nonsense_and_kinds_beyond_its_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
