/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/shellword.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_word(const char *word, const char *wanted)
{
    struct buf out;

    buf_init(&out, 256);
    shell_word(word, &out);
    assert_int_equal(buf_error(&out), 0);
    assert_string_equal(out.text, wanted);
    buf_release(&out);
}

static void harmless_words_stay_as_they_are(void **state)
{
    (void)state;
    assert_word("train.py", "train.py");
    assert_word("--lr=0.1", "--lr=0.1");
    assert_word("/opt/a_b/x:y@z,1+2%", "/opt/a_b/x:y@z,1+2%");
    assert_word("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
}

static void words_that_a_shell_would_split_or_expand_are_quoted(void **state)
{
    (void)state;
    assert_word("", "''");
    assert_word("two words", "'two words'");
    assert_word("$HOME; rm *", "'$HOME; rm *'");
    assert_word("~", "'~'");
    assert_word("#x", "'#x'");
    assert_word("it's", "'it'\\''s'");
    assert_word("back\\slash", "'back\\slash'");
}

static void control_characters_are_written_out(void **state)
{
    (void)state;
    assert_word("a\nb\tc", "$'a\\nb\\tc'");
    assert_word("\033[2J'\\", "$'\\033[2J\\'\\\\'");
    assert_word("\xc2\x9b"
                "1",
                "$'\\302\\2331'");
    assert_word("\x7f", "$'\\177'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(harmless_words_stay_as_they_are),
        cmocka_unit_test(words_that_a_shell_would_split_or_expand_are_quoted),
        cmocka_unit_test(control_characters_are_written_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
