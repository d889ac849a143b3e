/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* The vector that other implementations of xoshiro256** test against. */
static void rng_is_xoshiro256_starstar(void **state)
{
    static const uint64_t expected[] = {
        11520,
        0,
        1509978240,
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
    };
    struct rng rng = {{1, 2, 3, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_true(rng_u64(&rng) == expected[i]);
}

/* From an implementation of its own, written in another language. */
static void streams_have_fixed_beginnings(void **state)
{
    struct rng empty = rng_stream(0, "");
    struct rng arrivals = rng_stream(1, "arrivals");
    struct rng faults = rng_stream(1, "faults");

    (void)state;
    assert_true(rng_u64(&empty) == UINT64_C(0xcc7c8153251b9640));
    assert_true(rng_u64(&empty) == UINT64_C(0xe67bf1311a93c3b8));
    assert_true(rng_u64(&empty) == UINT64_C(0x4155054065e57f33));
    assert_true(rng_u64(&arrivals) == UINT64_C(0x0c74ea74adc94b3a));
    assert_true(rng_u64(&arrivals) == UINT64_C(0x92b854caecc95c29));
    assert_true(rng_u64(&arrivals) == UINT64_C(0xd08957edbc3da084));
    assert_true(rng_u64(&faults) == UINT64_C(0x41fe6f6a0873b658));
}

static void below_is_even_over_its_range(void **state)
{
    struct rng rng = rng_stream(7, "below");
    int count[7] = {0};

    (void)state;
    for (int i = 0; i < 70000; i++)
        count[rng_below(&rng, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(count[i], 9600, 10400); /* four standard deviations */
    assert_true(rng_below(&rng, 1) == 0);
}

/* With a plain remainder the lower half of this range would come up twice as often. */
static void below_has_no_bias_for_a_huge_range(void **state)
{
    const uint64_t n = UINT64_C(0xc000000000000000);
    struct rng rng = rng_stream(7, "huge");
    int low = 0;

    (void)state;
    for (int i = 0; i < 30000; i++)
        low += rng_below(&rng, n) < n / 3;
    assert_in_range(low, 9670, 10330);
}

static void between_includes_both_ends(void **state)
{
    struct rng rng = rng_stream(3, "between");
    int seen[3] = {0};

    (void)state;
    for (int i = 0; i < 100; i++)
        seen[rng_between(&rng, -1, 1) + 1]++;
    assert_true(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
    assert_true(rng_between(&rng, 5, 5) == 5);
    (void)rng_between(&rng, INT64_MIN, INT64_MAX);
    assert_true(rng_between(&rng, INT64_MAX, INT64_MAX) == INT64_MAX);
}

static void doubles_fill_the_unit_interval(void **state)
{
    struct rng rng = rng_stream(11, "double");
    double sum = 0.0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        double x = rng_double(&rng);

        assert_true(x >= 0.0 && x < 1.0);
        sum += x;
    }
    assert_true(fabs(sum / 100000 - 0.5) < 0.004);
}

static void exponential_has_its_mean_and_its_median(void **state)
{
    struct rng rng = rng_stream(13, "gaps");
    double sum = 0.0;
    int below_median = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        double x = rng_exponential(&rng, 20.0);

        assert_true(x >= 0.0);
        sum += x;
        below_median += x < 20.0 * 0.6931471805599453;
    }
    assert_true(fabs(sum / 100000 - 20.0) < 0.26);
    assert_in_range(below_median, 49350, 50650);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rng_is_xoshiro256_starstar),
        cmocka_unit_test(streams_have_fixed_beginnings),
        cmocka_unit_test(below_is_even_over_its_range),
        cmocka_unit_test(below_has_no_bias_for_a_huge_range),
        cmocka_unit_test(between_includes_both_ends),
        cmocka_unit_test(doubles_fill_the_unit_interval),
        cmocka_unit_test(exponential_has_its_mean_and_its_median),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
