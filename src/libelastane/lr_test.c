/* SPDX-License-Identifier: Apache-2.0 */
#include "libelastane/elastane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void lr_rules_give_the_factor_of_a_batch(void **state)
{
    (void)state;
    assert_int_equal(elastane_lr_rule_ppm(ELASTANE_LR_NONE, 64, 512), 1000000);
    assert_int_equal(elastane_lr_rule_ppm(ELASTANE_LR_LINEAR, 64, 512), 8000000);
    assert_int_equal(elastane_lr_rule_ppm(ELASTANE_LR_LINEAR, 512, 64), 125000);
    assert_int_equal(elastane_lr_rule_ppm(ELASTANE_LR_LINEAR, 3, 1), 333333);
    assert_int_equal(elastane_lr_rule_ppm(ELASTANE_LR_LINEAR, 3, 2), 666667);
    assert_int_equal(elastane_lr_rule_ppm(ELASTANE_LR_SQRT, 64, 256), 2000000);
    assert_int_equal(elastane_lr_rule_ppm(ELASTANE_LR_SQRT, 64, 128), 1414214);
    assert_int_equal(elastane_lr_rule_ppm(ELASTANE_LR_SQRT, 128, 64), 707107);
    assert_int_equal(elastane_lr_rule_ppm(ELASTANE_LR_SQRT, 0, 64), 1000000);
    assert_int_equal(elastane_lr_rule_ppm(99, 64, 128), 1000000);
}

/* |r^2 - 1e12 x| is smallest for the answer r, over many ratios. */
static void lr_root_is_the_nearest_one(void **state)
{
    (void)state;
    for (int32_t base = 1; base < 200; base += 3)
        for (int32_t batch = 1; batch < 2000; batch += 7) {
            int64_t r = elastane_lr_rule_ppm(ELASTANE_LR_SQRT, base, batch);
            double x = (double)batch / base * 1e12;
            double at = (double)r * (double)r - x;
            double below = (double)(r - 1) * (double)(r - 1) - x;
            double above = (double)(r + 1) * (double)(r + 1) - x;

            at = at < 0 ? -at : at;
            assert_true(at <= (below < 0 ? -below : below) + 2000);
            assert_true(at <= (above < 0 ? -above : above) + 2000);
        }
}

static void lr_factor_rises_over_the_ramp(void **state)
{
    struct elastane_plan plan = {.lr_from_ppm = 1000000,
                                 .lr_to_ppm = 3000000,
                                 .ramp_start = 100,
                                 .ramp_samples = 1000};

    (void)state;
    assert_true(elastane_lr_factor(&plan, 0) == 1.0);
    assert_true(elastane_lr_factor(&plan, 100) == 1.0);
    assert_true(elastane_lr_factor(&plan, 600) == 2.0);
    assert_true(elastane_lr_factor(&plan, 1100) == 3.0);
    assert_true(elastane_lr_factor(&plan, 99999) == 3.0);
}

static void lr_factor_drops_at_once_and_needs_no_ramp(void **state)
{
    struct elastane_plan plan = {.lr_from_ppm = 4000000,
                                 .lr_to_ppm = 1000000,
                                 .ramp_start = 100,
                                 .ramp_samples = 1000};

    (void)state;
    assert_true(elastane_lr_factor(&plan, 100) == 1.0);
    plan = (struct elastane_plan){.lr_from_ppm = 1000000, .lr_to_ppm = 2000000};
    assert_true(elastane_lr_factor(&plan, 0) == 2.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lr_rules_give_the_factor_of_a_batch),
        cmocka_unit_test(lr_root_is_the_nearest_one),
        cmocka_unit_test(lr_factor_rises_over_the_ramp),
        cmocka_unit_test(lr_factor_drops_at_once_and_needs_no_ramp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
