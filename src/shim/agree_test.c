/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/agree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct agree begun(int32_t n_ranks, int64_t largest_step)
{
    struct agree a;

    assert_int_equal(agree_init(&a, n_ranks), 0);
    agree_begin(&a, largest_step);
    return a;
}

static void agree_waits_for_every_rank_before_anybody_saves(void **state)
{
    struct agree a = begun(3, 10);

    (void)state;
    assert_int_equal(a.step, 12);
    assert_false(agree_ack(&a, 0, 12));
    assert_false(agree_ack(&a, 0, 12)); /* twice is once */
    assert_false(agree_saved(&a, 0, 12, 96, ""));
    assert_false(agree_ack(&a, 1, 12));
    assert_int_equal(agree_missing(&a), 2);
    assert_true(agree_ack(&a, 2, 12));
    assert_int_equal(a.state, AGREE_SAVING);
    agree_release(&a);
}

static void agree_raises_the_step_for_a_late_rank_and_asks_all_again(void **state)
{
    struct agree a = begun(2, 10);

    (void)state;
    assert_false(agree_ack(&a, 0, 12));
    assert_true(agree_late(&a, 15));
    assert_true(a.step > 15);
    assert_false(agree_ack(&a, 0, 12)); /* of the older step */
    assert_int_equal(agree_missing(&a), 0);
    assert_false(agree_ack(&a, 1, a.step));
    assert_true(agree_ack(&a, 0, a.step));
    agree_release(&a);
}

static void agree_hears_of_one_lateness_once(void **state)
{
    struct agree a = begun(3, 10);
    int64_t raised;

    (void)state;
    assert_true(agree_late(&a, 13));
    raised = a.step;
    assert_false(agree_late(&a, 13)); /* another rank, the same old step */
    assert_int_equal(a.step, raised);
    agree_release(&a);
}

/* A rank that runs away at any fixed speed is caught, because the margin doubles. */
static void agree_catches_ranks_that_do_not_wait(void **state)
{
    struct agree a = begun(1, 0);
    int64_t at = 0;
    int rounds = 0;

    (void)state;
    while (a.state == AGREE_ASKING && rounds < 20) {
        at += 1000; /* steps while a message travels */
        if (at > a.step)
            (void)agree_late(&a, at);
        else
            (void)agree_ack(&a, 0, a.step);
        rounds++;
    }
    assert_int_equal(a.state, AGREE_SAVING);
    agree_release(&a);
}

static void agree_is_held_when_all_have_saved_that_step(void **state)
{
    struct agree a = begun(2, 0);

    (void)state;
    (void)agree_ack(&a, 0, 2);
    (void)agree_ack(&a, 1, 2);
    assert_false(agree_saved(&a, 0, 1, 8, "own.manifest")); /* of its own accord */
    assert_false(agree_saved(&a, 0, 2, 16, "a.manifest"));
    assert_false(agree_saved(&a, 0, 2, 16, "a.manifest"));
    assert_true(agree_saved(&a, 1, 2, -1, ""));
    assert_int_equal(a.state, AGREE_HELD);
    assert_int_equal(a.samples_done, 16);
    assert_string_equal(a.manifest, "a.manifest");
    agree_end(&a);
    assert_int_equal(a.state, AGREE_NONE);
    assert_int_equal(agree_missing(&a), -1);
    agree_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agree_waits_for_every_rank_before_anybody_saves),
        cmocka_unit_test(agree_raises_the_step_for_a_late_rank_and_asks_all_again),
        cmocka_unit_test(agree_hears_of_one_lateness_once),
        cmocka_unit_test(agree_catches_ranks_that_do_not_wait),
        cmocka_unit_test(agree_is_held_when_all_have_saved_that_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
