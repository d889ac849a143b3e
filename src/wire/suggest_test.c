/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/suggest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/units.h"

static const char *const words[] = {"gpus", "batch", "gpu-batch", "base-batch", "level"};

static const char *word_at(const void *ctx, size_t index)
{
    (void)ctx;
    return index < ARRAY_SIZE(words) ? words[index] : NULL;
}

static const char *nearest(const char *word)
{
    return suggest_nearest(word, word_at, NULL);
}

static void suggest_finds_a_slip_of_the_fingers(void **state)
{
    (void)state;
    assert_string_equal(nearest("gpu"), "gpus");
    assert_string_equal(nearest("gups"), "gpus");
    assert_string_equal(nearest("gpu_batch"), "gpu-batch");
    assert_string_equal(nearest("basebatch"), "base-batch");
    assert_string_equal(nearest("levle"), "level");
}

static void suggest_keeps_quiet_about_other_words(void **state)
{
    (void)state;
    assert_null(nearest("colour"));
    assert_null(nearest(""));
    assert_null(nearest("x"));
    assert_null(nearest("a-word-that-is-longer-than-any-that-we-know-of"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suggest_finds_a_slip_of_the_fingers),
        cmocka_unit_test(suggest_keeps_quiet_about_other_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
