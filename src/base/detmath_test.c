/* SPDX-License-Identifier: Apache-2.0 */
#include "base/detmath.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/digest.h"
#include "base/rng.h"

#define SEED      20260101
#define N_RANDOM  200000
#define TOLERANCE 1e-12

static double uniform(struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_double(rng);
}

/* Any positive finite double, every exponent equally likely. */
static double any_positive(struct rng *rng)
{
    uint64_t bits = rng_below(rng, UINT64_C(0x7fefffffffffffff)) + 1;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static void assert_close(double ours, double theirs, double x, double y)
{
    if (ours == theirs || (isnan(ours) && isnan(theirs)))
        return;
    if (!(fabs(ours - theirs) <= fmax(TOLERANCE * fabs(theirs), 0x1p-1074)))
        fail_msg("f(%a, %a): %a is not %a", x, y, ours, theirs);
}

static void log2_agrees_with_libm(void **state)
{
    struct rng rng = rng_stream(SEED, "log2");

    (void)state;
    print_message("# seed %d\n", SEED);
    for (int i = 0; i < N_RANDOM; i++) {
        double wide = any_positive(&rng);
        double near = 1.0 + uniform(&rng, -1e-3, 1e-3);
        double nearer = 1.0 + uniform(&rng, -1e-12, 1e-12);

        assert_close(det_log2(wide), log2(wide), wide, 0);
        assert_close(det_log2(near), log2(near), near, 0);
        assert_close(det_log2(nearer), log2(nearer), nearer, 0);
    }
}

static void exp2_agrees_with_libm(void **state)
{
    struct rng rng = rng_stream(SEED, "exp2");

    (void)state;
    for (int i = 0; i < N_RANDOM; i++) {
        double wide = uniform(&rng, -1080.0, 1030.0);
        double near = uniform(&rng, -2.0, 2.0);
        double tiny = uniform(&rng, -1e-9, 1e-9);

        assert_close(det_exp2(wide), exp2(wide), wide, 0);
        assert_close(det_exp2(near), exp2(near), near, 0);
        assert_close(det_exp2(tiny), exp2(tiny), tiny, 0);
    }
}

static void pow_agrees_with_libm(void **state)
{
    struct rng rng = rng_stream(SEED, "pow");

    (void)state;
    for (int i = 0; i < N_RANDOM; i++) {
        double x = any_positive(&rng);
        double y = uniform(&rng, -1100.0, 1100.0) / fmax(1.0, fabs(log2(x)));
        double k = (double)(1 + rng_below(&rng, 8192));

        assert_close(det_pow(x, y), pow(x, y), x, y);
        assert_close(det_pow(k, 0.8), pow(k, 0.8), k, 0.8);
    }
}

static void whole_powers_of_two_are_exact(void **state)
{
    (void)state;
    for (int n = -1074; n <= 1023; n++) {
        assert_true(det_exp2(n) == ldexp(1.0, n));
        assert_true(det_log2(ldexp(1.0, n)) == n);
    }
    assert_true(det_pow(2.0, 10.0) == 1024.0);
    assert_true(det_pow(4.0, 0.5) == 2.0);
}

static void edges_are_those_of_c(void **state)
{
    static const double edges[] = {
        0.0,    1.0,    2.0,    0.5, 1e308,      0x1p-1074, 1e-320, 0x1p-1022, 1023.9999,
        1024.0, 1075.0, 1076.0, 3.0, 0x1.fp1023, INFINITY,  NAN,    1e-17};

    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        double x = edges[i];

        assert_close(det_log2(x), log2(x), x, 0);
        assert_close(det_exp2(x), exp2(x), x, 0);
        assert_close(det_exp2(-x), exp2(-x), -x, 0);
        for (size_t k = 0; k < sizeof edges / sizeof edges[0]; k++)
            assert_close(det_pow(x, edges[k]), pow(x, edges[k]), x, edges[k]);
    }
    assert_true(isnan(det_log2(-1.0)));
    assert_true(isnan(det_pow(-8.0, 2.0)));
    assert_true(det_pow(NAN, 0.0) == 1.0);
}

static void add_double(struct digest *d, double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    digest_add_u64(d, bits);
}

/* Written down once; another compiler, flag or machine must give the same bits. */
static void bits_are_the_same_everywhere(void **state)
{
    struct rng rng = rng_stream(SEED, "bits");
    struct digest d;

    (void)state;
    digest_init(&d);
    for (int i = 0; i < 10000; i++) {
        double x = any_positive(&rng);

        add_double(&d, det_log2(x));
        add_double(&d, det_exp2(uniform(&rng, -1080.0, 1030.0)));
        add_double(&d, det_pow(x, uniform(&rng, -2.0, 2.0)));
    }
    add_double(&d, det_log2(-1.0));
    assert_true(d.value == UINT64_C(0xe9610dba7cd8da9e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log2_agrees_with_libm),
        cmocka_unit_test(exp2_agrees_with_libm),
        cmocka_unit_test(pow_agrees_with_libm),
        cmocka_unit_test(whole_powers_of_two_are_exact),
        cmocka_unit_test(edges_are_those_of_c),
        cmocka_unit_test(bits_are_the_same_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
