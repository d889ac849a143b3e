/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/wrap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void assert_caught(FILE *out, const char *wanted)
{
    char seen[512] = "";

    rewind(out);
    (void)fread(seen, 1, sizeof seen - 1, out);
    assert_string_equal(seen, wanted);
    (void)fclose(out);
}

static void assert_printed(const char *text, struct wrap w, const char *wanted)
{
    FILE *out = tmpfile();

    assert_non_null(out);
    wrap_print(out, text, w);
    assert_caught(out, wanted);
}

static void assert_lines(const char *text, size_t width, const char *wanted)
{
    FILE *out = tmpfile();

    assert_non_null(out);
    wrap_print_lines(out, text, 2, width);
    assert_caught(out, wanted);
}

static void text_breaks_between_words(void **state)
{
    (void)state;
    assert_printed("one\ntwo\n", (struct wrap){0, 2, 9}, "one\n  two"); /* and an end */
    assert_printed("one two three four", (struct wrap){0, 2, 9},
                   "one two\n  three\n  four");
    assert_printed("one two", (struct wrap){0, 2, 7}, "one two");
    assert_printed("one two", (struct wrap){4, 4, 7}, "one\n    two");
    assert_printed("", (struct wrap){0, 2, 7}, "");
}

static void text_without_a_limit_stays_one_line(void **state)
{
    (void)state;
    assert_printed("one  two three", (struct wrap){0, 2, 0}, "one  two three");
}

static void word_that_is_longer_than_a_line_stays_whole(void **state)
{
    (void)state;
    assert_printed("a /very/long/path b", (struct wrap){0, 0, 8},
                   "a\n/very/long/path\nb");
}

static void columns_are_characters_and_control_characters_are_tamed(void **state)
{
    (void)state;
    assert_printed("\xc3\xa4\xc3\xb6\xc3\xbc \xc3\x9f", (struct wrap){0, 0, 5},
                   "\xc3\xa4\xc3\xb6\xc3\xbc \xc3\x9f");
    assert_printed("a\033[2J b", (struct wrap){0, 0, 40}, "a?[2J b");
}

static void values_go_on_below_themselves(void **state)
{
    (void)state;
    assert_lines("a title that is long\n  why   needs two gpus at least now\n\n", 26,
                 "a title that is long\n  why   needs two gpus at\n    least now\n\n");
    assert_lines("  why   needs two gpus at least now\n", 28,
                 "  why   needs two gpus at\n        least now\n");
    assert_lines("a title that is too long", 20, "a title that is too\n  long\n");
    assert_lines("  why   needs two gpus at least now\n", 0,
                 "  why   needs two gpus at least now\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_breaks_between_words),
        cmocka_unit_test(text_without_a_limit_stays_one_line),
        cmocka_unit_test(word_that_is_longer_than_a_line_stays_whole),
        cmocka_unit_test(columns_are_characters_and_control_characters_are_tamed),
        cmocka_unit_test(values_go_on_below_themselves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
