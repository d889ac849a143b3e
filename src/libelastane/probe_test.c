/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "libelastane/elastane.h"

static struct elastane_batch batch_of(int32_t own, int32_t accumulation)
{
    return (struct elastane_batch){
        .samples = 4 * own, .own_samples = own, .accumulation = accumulation};
}

static void probe_keeps_the_samples_and_stays_below_the_planned_pass(void **state)
{
    (void)state;
    for (int32_t own = 0; own < 300; own++)
        for (int32_t a = 1; a <= 4; a++)
            for (int64_t step = -1; step <= ELASTANE_PROBE_STEPS; step++) {
                struct elastane_batch batch = batch_of(own, a);
                int32_t sum = 0;
                int32_t pass = 0;
                int32_t size;

                while ((size = elastane_probe_pass(&batch, step, pass)) > 0) {
                    assert_true(size <= elastane_pass(&batch, 0));
                    sum += size;
                    pass++;
                }
                assert_int_equal(sum, own);
                assert_int_equal(elastane_probe_pass(&batch, step, pass + 1), 0);
            }
}

static void probe_tries_halves_then_quarters_then_lets_be(void **state)
{
    struct elastane_batch batch = batch_of(130, 1);

    (void)state;
    for (int64_t step = 0; step < 3; step++)
        assert_int_equal(elastane_probe_pass(&batch, step, 0), 130);
    for (int64_t step = 3; step < 6; step++)
        assert_int_equal(elastane_probe_pass(&batch, step, 0), 65);
    for (int64_t step = 6; step < 9; step++) {
        assert_int_equal(elastane_probe_pass(&batch, step, 3), 32);
        assert_int_equal(elastane_probe_pass(&batch, step, 4), 2);
    }
    assert_int_equal(elastane_probe_pass(&batch, ELASTANE_PROBE_STEPS, 0), 130);
}

/* Not as wished for by "passive" and "off", nor by a word of a later version. */
static void probe_cuts_nothing_where_the_job_does_not_want_it(void **state)
{
    static const char *const words[] = {"passive", "off", "sometimes"};
    struct elastane_batch batch = batch_of(130, 2);

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_int_equal(setenv("ELASTANE_PROFILE", words[i], 1), 0);
        for (int64_t step = 0; step <= ELASTANE_PROBE_STEPS; step++)
            for (int32_t pass = 0; pass < 4; pass++)
                assert_int_equal(elastane_probe_pass(&batch, step, pass),
                                 pass < 2 ? 65 : 0);
    }
    assert_int_equal(setenv("ELASTANE_PROFILE", "probe", 1), 0);
    assert_int_equal(elastane_probe_pass(&batch, 3, 0), 32);
    assert_int_equal(unsetenv("ELASTANE_PROFILE"), 0);
    assert_int_equal(elastane_probe_pass(&batch, 3, 0), 32);
}

static void probe_accepts_nonsense(void **state)
{
    struct elastane_batch batch = batch_of(64, 1);

    (void)state;
    assert_int_equal(elastane_probe_pass(NULL, 4, 0), 0);
    assert_int_equal(elastane_probe_pass(&batch, 4, -1), 0);
    assert_int_equal(elastane_probe_pass(&batch, INT64_MAX, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probe_keeps_the_samples_and_stays_below_the_planned_pass),
        cmocka_unit_test(probe_tries_halves_then_quarters_then_lets_be),
        cmocka_unit_test(probe_cuts_nothing_where_the_job_does_not_want_it),
        cmocka_unit_test(probe_accepts_nonsense),
    };

    return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
