/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

static void buf_grows_and_is_always_terminated(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    assert_string_equal(b.text, "");
    for (int i = 0; i < 100; i++)
        buf_printf(&b, "%d,", i % 10);
    assert_int_equal(b.len, 200);
    assert_int_equal(strlen(b.text), 200);
    assert_int_equal(buf_error(&b), 0);
    buf_release(&b);
}

static void buf_stops_at_its_maximum_and_says_so(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 5);
    buf_puts(&b, "12345");
    assert_int_equal(buf_error(&b), 0);
    buf_putc(&b, '6');
    assert_int_equal(buf_error(&b), E_LIMIT);
    assert_string_equal(b.text, "12345");
    buf_clear(&b);
    assert_int_equal(buf_error(&b), 0);
    buf_puts(&b, "ok");
    assert_string_equal(b.text, "ok");
    buf_release(&b);
}

static void buf_pads_the_last_line_only(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    buf_puts(&b, "a long first line\nab");
    buf_pad(&b, 5);
    buf_putc(&b, '|');
    assert_string_equal(b.text, "a long first line\nab   |");
    buf_release(&b);
}

static void buf_hands_its_text_over(void **state)
{
    struct buf b;
    char *text;

    (void)state;
    buf_init(&b, 100);
    text = buf_take(&b);
    assert_string_equal(text, "");
    mem_free(text);
    buf_puts(&b, "x");
    text = buf_take(&b);
    assert_string_equal(text, "x");
    assert_string_equal(b.text, "");
    mem_free(text);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buf_grows_and_is_always_terminated),
        cmocka_unit_test(buf_stops_at_its_maximum_and_says_so),
        cmocka_unit_test(buf_pads_the_last_line_only),
        cmocka_unit_test(buf_hands_its_text_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
