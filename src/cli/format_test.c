/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void format_rate_has_about_three_digits(void **state)
{
    char to[FORMAT_MAX];

    (void)state;
    assert_string_equal(format_rate(to, 0), "-");
    assert_string_equal(format_rate(to, 4100000), "4100/s");
    assert_string_equal(format_rate(to, 999900), "999.9/s");
    assert_string_equal(format_rate(to, 16403100), "16.4k/s");
    assert_string_equal(format_rate(to, 1204000000), "1.20M/s");
    assert_string_equal(format_rate(to, 1250), "1.2/s");
    assert_string_equal(format_rate(to, 50), "0.0/s");
}

static void format_ran_has_whole_seconds(void **state)
{
    char to[FORMAT_MAX];

    (void)state;
    assert_string_equal(format_ran(to, 0), "-");
    assert_string_equal(format_ran(to, -1), "-");
    assert_string_equal(format_ran(to, 942735), "0s");
    assert_string_equal(format_ran(to, 18 * USEC_PER_SEC + 254000), "18s");
    assert_string_equal(format_ran(to, 7500 * USEC_PER_SEC + 1), "2h 5m");
}

static void format_progress_is_a_share_only_of_a_known_total(void **state)
{
    char to[FORMAT_MAX];

    (void)state;
    assert_string_equal(format_progress(to, 45, 100), "45%");
    assert_string_equal(format_progress(to, INT64_MAX / 2, INT64_MAX), "50%");
    assert_string_equal(format_progress(to, 77, 0), "77");
    assert_string_equal(format_progress(to, 30, 10), "300%");
    assert_string_equal(format_progress(to, INT64_MAX, 1), "922337203685477580800%");
}

static void format_factor_drops_trailing_zeros(void **state)
{
    char to[FORMAT_MAX];

    (void)state;
    assert_string_equal(format_factor(to, 1000000), "1");
    assert_string_equal(format_factor(to, 1250000), "1.25");
    assert_string_equal(format_factor(to, 1500000), "1.5");
    assert_string_equal(format_factor(to, 1414214), "1.41");
    assert_string_equal(format_factor(to, 70000), "0.07");
    assert_string_equal(format_factor(to, 999999), "1");
}

static void format_time_ns_chooses_its_unit(void **state)
{
    char to[FORMAT_MAX];

    (void)state;
    assert_string_equal(format_time_ns(to, 138000000), "138.00 ms");
    assert_string_equal(format_time_ns(to, 1500000000), "1.500 s");
    assert_string_equal(format_time_ns(to, 830000), "830 us");
}

static void format_moment_of_zero_is_a_dash(void **state)
{
    char to[FORMAT_MAX];

    (void)state;
    assert_string_equal(format_moment(to, 0), "-");
    assert_string_equal(format_moment(to, INT64_MIN), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(format_rate_has_about_three_digits),
        cmocka_unit_test(format_ran_has_whole_seconds),
        cmocka_unit_test(format_progress_is_a_share_only_of_a_known_total),
        cmocka_unit_test(format_factor_drops_trailing_zeros),
        cmocka_unit_test(format_time_ns_chooses_its_unit),
        cmocka_unit_test(format_moment_of_zero_is_a_dash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
