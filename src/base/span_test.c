/* SPDX-License-Identifier: Apache-2.0 */
#include "base/span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"

#define SEED 31

static void assert_clock(usec_t span, const char *expected)
{
    char text[SPAN_TEXT_MAX];

    assert_string_equal(span_clock(span, text), expected);
}

static void assert_words(usec_t span, const char *expected)
{
    char text[SPAN_TEXT_MAX];

    assert_string_equal(span_words(span, text), expected);
}

static void clock_shows_hours_minutes_seconds(void **state)
{
    (void)state;
    assert_clock(0, "0:00:00");
    assert_clock(30 * USEC_PER_SEC, "0:00:30");
    assert_clock(30 * USEC_PER_SEC - 1, "0:00:29");
    assert_clock(26 * USEC_PER_HOUR + 3 * USEC_PER_MIN + 59 * USEC_PER_SEC, "26:03:59");
    assert_clock(-USEC_PER_SEC, "-0:00:01");
    assert_clock(-1, "0:00:00");
    assert_clock(USEC_NEVER, "never");
    assert_clock(INT64_MIN, "-2562047788:00:54");
}

static void words_show_the_two_largest_units(void **state)
{
    (void)state;
    assert_words(0, "0s");
    assert_words(7, "7us");
    assert_words(250 * USEC_PER_MSEC, "250ms");
    assert_words(30 * USEC_PER_SEC, "30s");
    assert_words(2 * USEC_PER_HOUR + 5 * USEC_PER_MIN + 9 * USEC_PER_SEC, "2h 5m");
    assert_words(2 * USEC_PER_HOUR + 9 * USEC_PER_SEC, "2h");
    assert_words(76 * USEC_PER_HOUR, "3d 4h");
    assert_words(-5 * USEC_PER_MIN, "-5m");
    assert_words(1500 * USEC_PER_MSEC, "1s 500ms");
    assert_words(USEC_NEVER, "never");
    assert_words(INT64_MIN, "-106751991d 4h");
}

static void assert_parsed(const char *text, usec_t expected)
{
    usec_t span = -1;

    assert_int_equal(span_parse(text, &span, NULL), 0);
    assert_true(span == expected);
}

static void spans_are_read_as_people_write_them(void **state)
{
    (void)state;
    assert_parsed("30s", 30 * USEC_PER_SEC);
    assert_parsed("2h", 2 * USEC_PER_HOUR);
    assert_parsed("1d", USEC_PER_DAY);
    assert_parsed("1h30m", 90 * USEC_PER_MIN);
    assert_parsed(" 1h 30m ", 90 * USEC_PER_MIN);
    assert_parsed("250ms", 250 * USEC_PER_MSEC);
    assert_parsed("1s1us", USEC_PER_SEC + 1);
    assert_parsed("0", 0);
    assert_parsed("0s", 0);
    assert_parsed("90m", 90 * USEC_PER_MIN);
    assert_parsed("9223372036854775806us", USEC_NEVER - 1);
}

static void refuse(const char *text, int code, const char *part_of_reason)
{
    struct err err = {0};
    usec_t span = 42;

    assert_int_equal(span_parse(text, &span, &err), code);
    assert_int_equal(span, 42);
    if (!strstr(err.text, part_of_reason) || !strstr(err.text, "30s, 5m, 1h30m or 2d"))
        fail_msg("'%s' was refused with: %s", text, err.text);
}

static void bad_spans_are_refused_with_a_reason(void **state)
{
    (void)state;
    refuse("", E_INVALID, "is empty");
    refuse("  ", E_INVALID, "is empty");
    refuse("30", E_INVALID, "'30' lacks a unit");
    refuse("1h30", E_INVALID, "lacks a unit");
    refuse("h", E_INVALID, "is not a span");
    refuse("-5s", E_INVALID, "is not a span");
    refuse("1.5h", E_INVALID, "is not a span");
    refuse("1:30", E_INVALID, "is not a span");
    refuse("3 h", E_INVALID, "is not a span");
    refuse("3w", E_INVALID, "unknown unit");
    refuse("3M", E_INVALID, "unknown unit");
    refuse("3min", E_INVALID, "unknown unit");
    refuse("30m1h", E_INVALID, "wrong order");
    refuse("1h1h", E_INVALID, "wrong order");
    refuse("106751992d", E_LIMIT, "is too long");
    refuse("9223372036854775807us", E_LIMIT, "is too long");
    refuse("106751991d9223372036854775807us", E_LIMIT, "is too long");
    refuse("99999999999999999999s", E_LIMIT, "is too long");
}

static void words_are_understood_again(void **state)
{
    struct rng rng = rng_stream(SEED, "span");
    char text[SPAN_TEXT_MAX], again[SPAN_TEXT_MAX];

    (void)state;
    print_message("# seed %d\n", SEED);
    for (int i = 0; i < 20000; i++) {
        usec_t span = (usec_t)(rng_u64(&rng) >> (1 + rng_below(&rng, 63)));
        usec_t parsed;

        if (span == USEC_NEVER)
            continue;
        assert_int_equal(span_parse(span_words(span, text), &parsed, NULL), 0);
        assert_true(parsed <= span);
        assert_string_equal(span_words(parsed, again), text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_shows_hours_minutes_seconds),
        cmocka_unit_test(words_show_the_two_largest_units),
        cmocka_unit_test(spans_are_read_as_people_write_them),
        cmocka_unit_test(bad_spans_are_refused_with_a_reason),
        cmocka_unit_test(words_are_understood_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
