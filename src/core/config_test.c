/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void config_defaults_are_those_of_the_header(void **state)
{
    struct config config;

    (void)state;
    config_defaults(&config);
    assert_int_equal(config_check(&config, NULL), 0);
    assert_string_equal(config.policy, "joint");
    assert_int_equal(config.admission, CONFIG_ADMIT_QUEUE);
    assert_int_equal(config.scaler, CONFIG_SCALER_PAYBACK);
    assert_int_equal(config.interval_us, 0);
    assert_int_equal(config.min_run_us, 60000000);
    assert_int_equal(config.min_gap_us, 30000000);
    assert_int_equal(config.admit_wait_us, 120000000);
    assert_int_equal(config.reserve_us, 86400000000);
    assert_int_equal(config.stall_guess_us, 5000000);
}

static void assert_refused(const struct config *config, const char *field)
{
    struct err err = {0};

    assert_true(config_check(config, &err) < 0);
    assert_string_equal(err.field, field);
    assert_true(strlen(err.text) > 0);
}

static void config_check_names_the_field(void **state)
{
    struct config good, bad;

    (void)state;
    config_defaults(&good);
    bad = good, bad.admission = CONFIG_ADMISSION_MAX;
    assert_refused(&bad, "admission");
    bad = good, bad.scaler = CONFIG_SCALER_MAX;
    assert_refused(&bad, "scaler");
    bad = good, bad.interval_us = -1;
    assert_refused(&bad, "interval");
    bad = good, bad.min_run_us = -1;
    assert_refused(&bad, "min-run");
    bad = good, bad.min_gap_us = -1;
    assert_refused(&bad, "min-gap");
    bad = good, bad.admit_wait_us = -1;
    assert_refused(&bad, "admit-wait");
    bad = good, bad.reserve_us = USEC_NEVER;
    assert_refused(&bad, "reserve");
    bad = good, bad.stall_guess_us = -1;
    assert_refused(&bad, "stall-guess");
}

static void config_check_lists_the_known_policies(void **state)
{
    struct config config;
    struct err err = {0};

    (void)state;
    config_defaults(&config);
    (void)snprintf(config.policy, sizeof config.policy, "elastic");
    assert_int_equal(config_check(&config, &err), E_INVALID);
    assert_string_equal(err.field, "policy");
    assert_string_equal(err.text, "is 'elastic', which is unknown; one of joint, "
                                  "fixed-min, fixed-max, fixed-max-accum, fixed-base, "
                                  "fifo");
    memset(config.policy, 'x', sizeof config.policy);
    assert_refused(&config, "policy");
    config.policy[0] = '\0';
    assert_refused(&config, "policy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config_defaults_are_those_of_the_header),
        cmocka_unit_test(config_check_names_the_field),
        cmocka_unit_test(config_check_lists_the_known_policies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
