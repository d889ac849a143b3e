/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "core/limits.h"

static void feed(struct progress *p, const char *text)
{
    progress_feed(p, text, strlen(text));
}

static void a_line_is_one_number_or_two(void **state)
{
    static const struct {
        const char *text;
        int64_t samples, total; /* samples -1: refused */
    } lines[] = {
        {"0", 0, 0},
        {"4096", 4096, 0},
        {" 12\t600000 \r", 12, 600000},
        {"7 7", 7, 7},
        {"9007199254740992", TRAINED_MAX, 0},
        {"9007199254740993", -1, 0},
        {"1 9007199254740993", -1, 0},
        {"99999999999999999999999999999999", -1, 0},
        {"", -1, 0},
        {"-1", -1, 0},
        {"+1", -1, 0},
        {"12x", -1, 0},
        {"1.5", -1, 0},
        {"1e3", -1, 0},
        {"100 50", -1, 0},
        {"1 2 3", -1, 0},
        {"1 2x", -1, 0},
        {"step 12", -1, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct progress_line line = {-1, 0};
        int rc = progress_line_parse(lines[i].text, strlen(lines[i].text), &line);

        assert_int_equal(rc, lines[i].samples < 0 ? E_INVALID : 0);
        assert_int_equal(line.samples, lines[i].samples);
        assert_int_equal(line.total, lines[i].total);
    }
}

static void what_is_written_is_read(void **state)
{
    const struct progress_line lines[] = {
        {0, 0}, {64, 0}, {64, 128}, {TRAINED_MAX, TRAINED_MAX}};
    char text[PROGRESS_LINE_MAX + 1];

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        size_t n = progress_line_format(&lines[i], text);
        struct progress_line back;

        assert_int_equal(text[n - 1], '\n');
        assert_int_equal(progress_line_parse(text, n - 1, &back), 0);
        assert_memory_equal(&back, &lines[i], sizeof back);
    }
}

static void a_torn_line_waits_for_its_end(void **state)
{
    struct progress p = PROGRESS_INIT;

    (void)state;
    assert_int_equal(p.samples, -1);
    feed(&p, "64\n12");
    assert_int_equal(p.samples, 64);
    feed(&p, "8 1000");
    assert_int_equal(p.samples, 64);
    feed(&p, "\n");
    assert_int_equal(p.samples, 128);
    assert_int_equal(p.total, 1000);
    feed(&p, "256"); /* a total that is not said again stays */
    progress_cut(&p, false);
    feed(&p, "192\n");
    assert_int_equal(p.samples, 192);
    assert_int_equal(p.total, 1000);
    assert_int_equal(p.n_lines, 3);
    assert_int_equal(p.n_bad, 0);
}

static void of_several_ranks_the_largest_counts(void **state)
{
    struct progress p = PROGRESS_INIT;

    (void)state;
    feed(&p, "64\n64\n128\n64\n"); /* out of order, in one reading */
    assert_int_equal(p.samples, 128);
    assert_int_equal(p.n_fallen, 0);
}

static void a_counter_that_falls_is_not_taken(void **state)
{
    struct progress p = PROGRESS_INIT;

    (void)state;
    feed(&p, "128\n");
    feed(&p, "64\n");
    assert_int_equal(p.samples, 128);
    assert_int_equal(p.n_fallen, 1);
    feed(&p, "128\n192\n");
    assert_int_equal(p.samples, 192);
    assert_int_equal(p.n_fallen, 1);
}

static void garbage_is_counted_and_left_out(void **state)
{
    char line[3 * PROGRESS_LINE_MAX];
    struct progress p = PROGRESS_INIT;

    (void)state;
    memset(line, '7', sizeof line);
    feed(&p, "hello\n\n  \n5\n");
    progress_feed(&p, line, sizeof line); /* longer than any line: one bad one */
    progress_feed(&p, line, sizeof line);
    feed(&p, "\n6\n");
    progress_feed(&p, "\0\xff\n", 3);
    assert_int_equal(p.samples, 6);
    assert_int_equal(p.n_lines, 2);
    assert_int_equal(p.n_bad, 3);
}

static void what_begins_inside_a_line_is_not_read(void **state)
{
    struct progress p = PROGRESS_INIT;

    (void)state;
    progress_cut(&p, true);
    feed(&p, "99999\n7\n");
    assert_int_equal(p.samples, 7);
    assert_int_equal(p.n_bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_one_number_or_two),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_torn_line_waits_for_its_end),
        cmocka_unit_test(of_several_ranks_the_largest_counts),
        cmocka_unit_test(a_counter_that_falls_is_not_taken),
        cmocka_unit_test(garbage_is_counted_and_left_out),
        cmocka_unit_test(what_begins_inside_a_line_is_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
