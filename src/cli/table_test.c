/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/units.h"

static const struct table_column columns[] = {
    {"ID", TABLE_RIGHT, 0, 0},
    {"STATE", TABLE_LEFT, 0, 0},
    {"REASON", TABLE_LEFT, 8, 0},
};

static void assert_printed(const struct table *t, int width, int state_column,
                           const char *expected)
{
    struct buf out;

    buf_init(&out, 4096);
    assert_int_equal(table_print(t, width, state_column, &out), 0);
    assert_string_equal(out.text, expected);
    buf_release(&out);
}

static void table_is_as_wide_as_what_is_in_it(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, columns, ARRAY_SIZE(columns));
    assert_printed(&t, 0, -1, "ID  STATE  REASON\n");
    table_cell(&t, "%d", 117);
    table_cell(&t, "running");
    table_cell(&t, "alone in the cluster");
    assert_printed(&t, 0, -1,
                   " ID  STATE    REASON\n"
                   "117  running  alone in the cluster\n");
    table_release(&t);
}

static void table_cuts_what_may_shrink_at_the_terminal(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, columns, ARRAY_SIZE(columns));
    table_cell(&t, "1");
    table_cell(&t, "queued");
    table_cell(&t, "w\xc3\xa4rter and longer words");
    assert_printed(&t, 22, -1,
                   "ID  STATE   REASON\n"
                   " 1  queued  w\xc3\xa4rter an\xe2\x80\xa6\n");
    assert_printed(&t, 5, -1,
                   "ID  STATE   REASON\n"
                   " 1  queued  w\xc3\xa4rter \xe2\x80\xa6\n");
    table_release(&t);
}

static const struct table_column ranked[] = {
    {"ID", TABLE_RIGHT, 0, 0},
    {"BATCH", TABLE_RIGHT, 0, 1},
    {"LEVEL", TABLE_LEFT, 0, 2},
    {"REASON", TABLE_LEFT, 8, 0},
};

static void table_leaves_out_what_matters_least(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, ranked, ARRAY_SIZE(ranked));
    table_cell(&t, "1");
    table_cell(&t, "512");
    table_cell(&t, "elastic");
    table_cell(&t, "waits for others");
    assert_printed(&t, 34, -1,
                   "ID  BATCH  LEVEL    REASON\n"
                   " 1    512  elastic  waits for oth\xe2\x80\xa6\n");
    assert_printed(&t, 27, -1,
                   "ID  BATCH  REASON\n"
                   " 1    512  waits for others\n");
    assert_printed(&t, 15, -1,
                   "ID  REASON\n"
                   " 1  waits for \xe2\x80\xa6\n");
    table_release(&t);
}

static void table_wraps_its_last_column(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, ranked, ARRAY_SIZE(ranked));
    t.is_wrapped = true;
    table_cell(&t, "1");
    table_cell(&t, "512");
    table_cell(&t, "elastic");
    table_cell(&t, "waits for others");
    table_cell(&t, "2");
    table_cell(&t, "-");
    table_cell(&t, "rigid");
    table_cell(&t, "up");
    assert_printed(&t, 30, -1,
                   "ID  BATCH  LEVEL    REASON\n"
                   " 1    512  elastic  waits for\n"
                   "                    others\n"
                   " 2      -  rigid    up\n");
    table_release(&t);
}

static void table_colours_states_without_moving_columns(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, columns, ARRAY_SIZE(columns));
    table_cell(&t, "1");
    table_cell(&t, "done");
    table_cell(&t, "x");
    assert_printed(&t, 0, 1,
                   "ID  STATE  REASON\n"
                   " 1  \033[32mdone\033[0m   x\n");
    table_release(&t);
}

static void table_lets_nothing_play_with_the_terminal(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, columns, ARRAY_SIZE(columns));
    table_cell(&t, "1");
    table_cell(&t, "a\033[2Jb");
    table_cell(&t, "c\nd\xc2\x9b");
    assert_printed(&t, 0, -1,
                   "ID  STATE   REASON\n"
                   " 1  a?[2Jb  c?d??\n");
    table_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_as_wide_as_what_is_in_it),
        cmocka_unit_test(table_cuts_what_may_shrink_at_the_terminal),
        cmocka_unit_test(table_leaves_out_what_matters_least),
        cmocka_unit_test(table_wraps_its_last_column),
        cmocka_unit_test(table_colours_states_without_moving_columns),
        cmocka_unit_test(table_lets_nothing_play_with_the_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
