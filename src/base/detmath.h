/* SPDX-License-Identifier: Apache-2.0 */
/* detmath.h - powers and logarithms that have the same bits on every machine.
 *
 * Built from IEEE + - * / and bit fields alone. Relative error below 1e-12 (as measured:
 * log2 5e-16, exp2 3e-16, pow 2e-13), or one step of the grid where the result is
 * subnormal. NaN in, NaN out. */
#ifndef BASE_DETMATH_H
#define BASE_DETMATH_H

/* 2^x. +inf above the range of double, 0 below it; exact for whole x. */
double det_exp2(double x);

/* Base-2 logarithm. -inf for 0, NaN for negative x; exact for powers of two. */
double det_log2(double x);

/* x^y for x >= 0; NaN for negative x. 1 when y is 0 or x is 1, as in C. */
double det_pow(double x, double y);

#endif
