/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/term.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/units.h"

static const struct {
    const char *text, *keep, *printed, *tamed;
} cases[] = {
    {"plain", "", "plain", "plain"},
    {"w\xc3\xa4rter \xe2\x82\xac", "", "w\xc3\xa4rter \xe2\x82\xac",
     "w\xc3\xa4rter \xe2\x82\xac"},
    {"\033[31m\177\a", "", "?[31m??", "?[31m??"},
    {"a\nb\tc", "", "a?b?c", "a?b?c"},
    {"a\nb\tc\033", "\n\t", "a\nb\tc?", "a\nb\tc?"},
    {"\xc2\x9b"
     "31m\xc2\x80\xc2\x9f\xc2\xa0",
     "", "?31m??\xc2\xa0", "??31m????\xc2\xa0"},
    {"cut \xc2", "", "cut \xc2", "cut \xc2"},
    {"", "", "", ""},
};

static void control_characters_do_not_reach_the_terminal(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char tamed[64];
        char printed[64] = "";
        FILE *out = tmpfile();

        assert_non_null(out);
        term_print(out, cases[i].text, cases[i].keep);
        rewind(out);
        (void)fread(printed, 1, sizeof(printed) - 1, out);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(printed, cases[i].printed);
        (void)snprintf(tamed, sizeof(tamed), "%s", cases[i].text);
        term_tame(tamed, cases[i].keep);
        assert_string_equal(tamed, cases[i].tamed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_do_not_reach_the_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
