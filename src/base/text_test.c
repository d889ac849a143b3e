/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"

#define SEED 99

static int64_t parse(const char *text)
{
    int64_t value = 0;

    assert_int_equal(
        text_parse_int(text, strlen(text), INT64_MIN, INT64_MAX, &value, NULL), 0);
    return value;
}

static void numbers_come_out_as_they_went_in(void **state)
{
    struct rng rng = rng_stream(SEED, "text");
    char text[32];

    (void)state;
    print_message("# seed %d\n", SEED);
    assert_true(parse("0") == 0);
    assert_true(parse("-0") == 0);
    assert_true(parse("007") == 7);
    assert_true(parse("9223372036854775807") == INT64_MAX);
    assert_true(parse("-9223372036854775808") == INT64_MIN);
    for (int i = 0; i < 10000; i++) {
        int64_t value = (int64_t)rng_u64(&rng) >> rng_below(&rng, 64);

        (void)snprintf(text, sizeof text, "%lld", (long long)value);
        assert_true(parse(text) == value);
    }
}

static void refuse(const char *text, size_t n, int code, const char *reason)
{
    struct err err = {0};
    int64_t value = 42;

    assert_int_equal(text_parse_int(text, n, -10, 100, &value, &err), code);
    assert_string_equal(err.text, reason);
    assert_int_equal(value, 42);
}

static void what_is_no_number_is_refused_with_a_reason(void **state)
{
    (void)state;
    refuse("", 0, E_INVALID, "is empty; give a whole number");
    refuse("-", 1, E_INVALID, "'-' is not a whole number");
    refuse("+1", 2, E_INVALID, "'+1' is not a whole number");
    refuse(" 1", 2, E_INVALID, "' 1' is not a whole number");
    refuse("1 ", 2, E_INVALID, "'1 ' is not a whole number");
    refuse("1.5", 3, E_INVALID, "'1.5' is not a whole number");
    refuse("0x10", 4, E_INVALID, "'0x10' is not a whole number");
    refuse("--1", 3, E_INVALID, "'--1' is not a whole number");
    refuse("99999999999999999999x", 21, E_INVALID,
           "'99999999999999999999x' is not a whole number");
}

static void what_is_too_large_is_refused_with_the_range(void **state)
{
    (void)state;
    refuse("101", 3, E_LIMIT, "'101' is out of range; -10 to 100");
    refuse("-11", 3, E_LIMIT, "'-11' is out of range; -10 to 100");
    refuse("9223372036854775808", 19, E_LIMIT,
           "'9223372036854775808' is out of range; -10 to 100");
    refuse("-9223372036854775809", 20, E_LIMIT,
           "'-9223372036854775809' is out of range; -10 to 100");
    refuse("1111111111111111111111111111111111111111", 40, E_LIMIT,
           "'11111111111111111111111111111111...' is out of range; -10 to 100");
}

static void only_the_given_bytes_are_read(void **state)
{
    const char bytes[4] = {'1', '2', '3', '4'};
    int64_t value;

    (void)state;
    assert_int_equal(text_parse_int(bytes, 3, 0, 1000, &value, NULL), 0);
    assert_int_equal(value, 123);
}

static void comparisons_mind_the_case(void **state)
{
    (void)state;
    assert_true(text_equal("joint", "joint"));
    assert_false(text_equal("joint", "Joint"));
    assert_true(text_starts_with("fixed-max", "fixed"));
    assert_true(text_starts_with("fixed", ""));
    assert_false(text_starts_with("fix", "fixed"));
}

static void check_fit(const char *text, size_t cap, const char *expected)
{
    char to[64];

    memset(to, 'x', sizeof to);
    text_fit(to, cap, text);
    assert_string_equal(to, expected);
    assert_int_equal(to[cap], 'x');
}

static void text_that_is_too_long_keeps_its_beginning_and_its_end(void **state)
{
    (void)state;
    check_fit("fits as it is", 16, "fits as it is");
    check_fit("just what fits!", 16, "just what fits!");
    check_fit("cannot open /a/very/long/path/to/file: denied", 40,
              "cannot open /a/very/.../to/file: denied");
    check_fit("too little room", 5, "too ");
    check_fit("0123456789abcdefghij", 16, "012345...efghij");
    check_fit("many words that are all short and so on", 16, "many w... so on");
    check_fit("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 16,
              "\xc3\xa4\xc3\xa4\xc3\xa4...\xc3\xa4\xc3\xa4\xc3\xa4");
}

static void text_of_any_length_fits_and_is_valid(void **state)
{
    char text[200];
    char to[48];

    (void)state;
    for (size_t n = 0; n < sizeof text; n++) {
        memset(text, 'a', n);
        for (size_t i = 0; i + 1 < n; i += 5)
            memcpy(text + i, i % 3 ? "\xc3\xa4" : "b ", 2);
        text[n] = '\0';
        text_fit(to, sizeof to, text);
        assert_true(strlen(to) < sizeof to);
        assert_int_equal(strlen(to) == n, n < sizeof to);
        for (size_t i = 0; to[i]; i++) /* no half of a character */
            assert_int_equal(to[i] == '\xc3', to[i + 1] == '\xa4');
        text_fit_printf(to, sizeof to, "%s", text);
        assert_true(strlen(to) < sizeof to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_that_is_too_long_keeps_its_beginning_and_its_end),
        cmocka_unit_test(text_of_any_length_fits_and_is_valid),
        cmocka_unit_test(numbers_come_out_as_they_went_in),
        cmocka_unit_test(what_is_no_number_is_refused_with_a_reason),
        cmocka_unit_test(what_is_too_large_is_refused_with_the_range),
        cmocka_unit_test(only_the_given_bytes_are_read),
        cmocka_unit_test(comparisons_mind_the_case),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
