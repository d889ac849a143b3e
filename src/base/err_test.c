/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void err_names_the_field_and_the_reason(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(err_field(&err, E_INVALID, "batch", "is %d, must be >= 1", 0),
                     E_INVALID);
    assert_int_equal(err.code, E_INVALID);
    assert_string_equal(err.field, "batch");
    assert_string_equal(err.text, "is 0, must be >= 1");
    err_clear(&err);
    assert_int_equal(err.code, E_OK);
    assert_string_equal(err.text, "");
}

static void err_may_be_null(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, E_IO, "lost"), E_IO);
    err_clear(NULL);
}

static void err_cuts_a_text_that_is_too_long(void **state)
{
    struct err err;
    char text[2 * ERR_TEXT_MAX];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    err_set(&err, E_LIMIT, "%s", text);
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
}

static void every_code_has_a_name(void **state)
{
    (void)state;
    for (int code = E_OK; code >= E_AGAIN; code--)
        assert_string_not_equal(err_name(code), "unknown");
    assert_string_equal(err_name(E_AGAIN - 1), "unknown");
    assert_string_equal(err_name(7), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(err_names_the_field_and_the_reason),
        cmocka_unit_test(err_may_be_null),
        cmocka_unit_test(err_cuts_a_text_that_is_too_long),
        cmocka_unit_test(every_code_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
