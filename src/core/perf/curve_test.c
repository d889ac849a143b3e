/* SPDX-License-Identifier: Apache-2.0 */
#include "core/perf/curve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"

#define SEED 20260101u

static void assert_near(double seen, double wanted)
{
    double off = seen - wanted;

    if (off > 1e-12 || off < -1e-12)
        fail_msg("%.17g instead of %.17g", seen, wanted);
}

static struct curve curve_of(int32_t n, const int32_t *at, const int64_t *ms)
{
    struct perf_model model = {.source = MODEL_MEASURED, .n_proc = n};
    struct curve curve;

    for (int32_t i = 0; i < n; i++)
        model.proc[i] = (struct proc_point){at[i], ms[i] * 1000000};
    curve_init(&curve, &model);
    return curve;
}

static void curve_is_straight_between_knots_and_goes_on_beyond(void **state)
{
    struct curve c = curve_of(3, (int32_t[]){8, 16, 32}, (int64_t[]){20, 30, 70});

    (void)state;
    assert_near(curve_at(&c, 8), 0.020);
    assert_near(curve_at(&c, 12), 0.025);
    assert_near(curve_at(&c, 16), 0.030);
    assert_near(curve_at(&c, 24), 0.050);
    assert_near(curve_at(&c, 32), 0.070);
    assert_near(curve_at(&c, 64), 0.150);
}

static void curve_lifts_points_that_fall(void **state)
{
    struct curve c = curve_of(4, (int32_t[]){1, 2, 3, 4}, (int64_t[]){10, 30, 20, 40});

    (void)state;
    assert_near(curve_at(&c, 2), 0.030);
    assert_near(curve_at(&c, 3), 0.030);
    assert_near(curve_at(&c, 4), 0.040);
    assert_near(curve_at(&c, 5), 0.050);
}

static void curve_below_the_first_point_keeps_the_constant_part(void **state)
{
    struct curve c = curve_of(2, (int32_t[]){8, 16}, (int64_t[]){20, 30});

    (void)state;
    assert_near(curve_at(&c, 4), 0.015);
    assert_near(curve_at(&c, 1), 0.01125);
}

static void curve_below_the_first_point_never_undercuts_the_share(void **state)
{
    struct curve c = curve_of(2, (int32_t[]){8, 16}, (int64_t[]){20, 80});

    (void)state;
    assert_near(curve_at(&c, 4), 0.010);
    assert_near(curve_at(&c, 1), 0.0025);
}

static void curve_of_one_point_is_proportional(void **state)
{
    struct curve c = curve_of(1, (int32_t[]){8}, (int64_t[]){20});

    (void)state;
    assert_near(curve_at(&c, 2), 0.005);
    assert_near(curve_at(&c, 8), 0.020);
    assert_near(curve_at(&c, 80), 0.200);
}

static void curve_never_falls_and_is_positive_on_random_points(void **state)
{
    struct rng rng = rng_stream(SEED, "curve");

    (void)state;
    print_message("# seed %u\n", SEED);
    for (int round = 0; round < 300; round++) {
        struct perf_model model = {.source = MODEL_MEASURED};
        struct curve c;
        int32_t at = 0;

        model.n_proc = (int32_t)rng_between(&rng, 1, PROC_POINTS_MAX);
        for (int32_t i = 0; i < model.n_proc; i++) {
            at += (int32_t)rng_between(&rng, 1, 9);
            model.proc[i] = (struct proc_point){at, rng_between(&rng, 1, 1000000)};
        }
        curve_init(&c, &model);
        assert_true(curve_at(&c, 1) > 0.0);
        for (int32_t m = 2; m < at + 20; m++)
            assert_true(curve_at(&c, m) >= curve_at(&c, m - 1) * (1.0 - 1e-12));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curve_is_straight_between_knots_and_goes_on_beyond),
        cmocka_unit_test(curve_lifts_points_that_fall),
        cmocka_unit_test(curve_below_the_first_point_keeps_the_constant_part),
        cmocka_unit_test(curve_below_the_first_point_never_undercuts_the_share),
        cmocka_unit_test(curve_of_one_point_is_proportional),
        cmocka_unit_test(curve_never_falls_and_is_positive_on_random_points),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
