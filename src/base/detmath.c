/* SPDX-License-Identifier: Apache-2.0 */
/* detmath.c - exp2, log2 and pow in a written order of operations.
 *
 * IEEE 754 fixes the result of + - * / for doubles, and nothing fixes that of libm's
 * transcendental functions, which differ between versions and processors. Two ideas do:
 *
 *   log2: x = 2^e * m with m in [1/sqrt 2, sqrt 2). With s = (m - 1) / (m + 1),
 *         ln m = 2 (s + s^3/3 + s^5/5 + ...); |s| < 0.1716, so eleven terms leave less
 *         than 1e-18. e is 0 near x = 1 and |log2 m| <= 1/2, so the sum never cancels
 *         and the relative error stays at a few units in the last place.
 *   exp2: x = n + f, n whole, |f| <= 1/2; 2^f is the Taylor series of e^(f ln 2), whose
 *         15th term is below 1e-18; 2^n is written into the exponent field.
 *
 * pow multiplies the error of log2 by the exponent, at most 1075: hence the stated
 * 1e-12. Invariants:
 *   1. No call of libm, no fused multiply-add (-ffp-contract=off), no reassociation.
 *   2. A NaN is always the same NaN, because its sign would show in a digest.
 */
#include "base/detmath.h"

#include <stdint.h>
#include <string.h>

#define BITS_NAN      UINT64_C(0x7ff8000000000000)
#define BITS_INF      UINT64_C(0x7ff0000000000000)
#define BITS_MANTISSA UINT64_C(0x000fffffffffffff)
#define BITS_ONE      UINT64_C(0x3ff0000000000000)
#define TWO_TO_54     18014398509481984.0

#define LN_2   0.69314718055994530942
#define LOG2_E 1.44269504088896340736
#define SQRT_2 1.41421356237309504880

static uint64_t to_bits(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^n for n in [-1022, 1023]. */
static double power_of_two(int n)
{
    return from_bits((uint64_t)(n + 1023) << 52);
}

/* ln m for m in [1/sqrt 2, sqrt 2); m - 1 is exact there. */
static double log_near_one(double m)
{
    double s = (m - 1.0) / (m + 1.0);
    double z = s * s;
    double sum = 1.0 / 21.0;

    for (int n = 19; n >= 3; n -= 2)
        sum = sum * z + 1.0 / n;
    return 2.0 * (s + s * (z * sum));
}

double det_log2(double x)
{
    int e = 0;
    double m;

    if (!(x >= 0.0))
        return from_bits(BITS_NAN);
    if (x == 0.0)
        return from_bits(BITS_INF | (UINT64_C(1) << 63));
    if (to_bits(x) == BITS_INF)
        return x;
    if (to_bits(x) <= BITS_MANTISSA) { /* subnormal */
        x *= TWO_TO_54;
        e = -54;
    }
    e += (int)(to_bits(x) >> 52) - 1023;
    m = from_bits((to_bits(x) & BITS_MANTISSA) | BITS_ONE);
    if (m >= SQRT_2) {
        m *= 0.5;
        e++;
    }
    return e + log_near_one(m) * LOG2_E;
}

double det_exp2(double x)
{
    double t;
    double sum = 1.0;
    int n;

    if (x != x)
        return from_bits(BITS_NAN);
    if (x >= 1024.0)
        return from_bits(BITS_INF);
    if (x < -1075.0)
        return 0.0;
    n = (int)(x + (x >= 0.0 ? 0.5 : -0.5));
    t = (x - n) * LN_2;
    for (int i = 14; i >= 1; i--)
        sum = 1.0 + sum * (t / i);
    if (n > 1023)
        return sum * 2.0 * power_of_two(1023);
    if (n < -1022)
        return sum * power_of_two(n + 54) * (1.0 / TWO_TO_54);
    return sum * power_of_two(n);
}

double det_pow(double x, double y)
{
    if (y == 0.0 || x == 1.0)
        return 1.0;
    if (x != x || y != y || x < 0.0)
        return from_bits(BITS_NAN);
    return det_exp2(y * det_log2(x));
}
