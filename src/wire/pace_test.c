/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "wire/pace.h"

static void pace_of_any_accepted_form_is_taken(void **state)
{
    static const char *const good[] = {"off",           "20ms",          "0.4ms*m",
                                       "20ms+0.4ms*m",  "1s+2us*m+3ns",  "0s",
                                       "1 ms + 2 ms*m", "00012.500us*m", "1ms+1ms"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_int_equal(pace_check(good[i], NULL), 0);
}

static void pace_of_any_other_form_is_refused_with_the_accepted_one(void **state)
{
    static const char *const bad[] = {"",      " ",     "20",       "ms",       "20m",
                                      "20ms+", "+20ms", "20ms++1s", "-1ms",     "1e3ms",
                                      ".5ms",  "5.ms",  "20ms*n",   "20ms*m*m", "m*20ms",
                                      "20msx", "OFF",   "off+1ms",  "20ms,1ms", "1\tms"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = {0};

        assert_int_equal(pace_check(bad[i], &err), E_INVALID);
        assert_non_null(strstr(err.text, "20ms+0.4ms*m"));
    }
}

static void pace_that_is_too_long_is_refused(void **state)
{
    char text[PACE_BYTES_MAX + 2];
    struct err err = {0};

    (void)state;
    memset(text, '1', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(pace_check(text, &err), E_LIMIT);
    memcpy(text + PACE_BYTES_MAX - 1, "s", 2);
    assert_int_equal(pace_check(text, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pace_of_any_accepted_form_is_taken),
        cmocka_unit_test(pace_of_any_other_form_is_refused_with_the_accepted_one),
        cmocka_unit_test(pace_that_is_too_long_is_refused),
    };

    return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
