/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loop/clock.h"

static void clock_begins_at_the_wall_clock(void **state)
{
    struct clock clock = clock_at(100, 5000, 70);

    (void)state;
    assert_int_equal(clock_read(&clock, 70), 5000);
    assert_int_equal(clock_read(&clock, 75), 5005);
}

static void clock_does_not_fall_behind_the_journal(void **state)
{
    struct clock clock = clock_at(9000, 5000, 70);

    (void)state;
    assert_int_equal(clock_read(&clock, 71), 9001);
}

static void clock_stands_still_rather_than_going_back(void **state)
{
    struct clock clock = clock_at(0, 5000, 70);

    (void)state;
    assert_int_equal(clock_read(&clock, 60), 5000);
}

static void clock_of_the_machine_moves_on(void **state)
{
    struct clock clock = clock_begin(USEC_PER_SEC);
    usec_t first = clock_now(&clock);

    (void)state;
    assert_true(first > USEC_PER_SEC);
    assert_true(clock_now(&clock) >= first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_begins_at_the_wall_clock),
        cmocka_unit_test(clock_does_not_fall_behind_the_journal),
        cmocka_unit_test(clock_stands_still_rather_than_going_back),
        cmocka_unit_test(clock_of_the_machine_moves_on),
    };

    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
