/* SPDX-License-Identifier: Apache-2.0 */
/* units.h - scalars with a meaning, and the factors between their units. */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

/* Microseconds. A moment (since the epoch of the core's clock) or a span; the name tells.
 */
typedef int64_t usec_t;

#define USEC_PER_MSEC ((usec_t)1000)
#define USEC_PER_SEC  ((usec_t)1000000)
#define USEC_PER_MIN  (60 * USEC_PER_SEC)
#define USEC_PER_HOUR (60 * USEC_PER_MIN)
#define USEC_PER_DAY  (24 * USEC_PER_HOUR)

/* "Never", for moments that are compared with <. */
#define USEC_NEVER INT64_MAX

#define PPM ((int64_t)1000000)

#define BIT(n) (1u << (n))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline int64_t i64_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t i64_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* a + b, neither of them negative; at most INT64_MAX. */
static inline int64_t i64_add_capped(int64_t a, int64_t b)
{
    return i64_min(a, INT64_MAX - b) + b;
}

static inline int32_t i32_min(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t i32_max(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* a / b rounded up, for a >= 0 and b > 0. */
static inline int64_t i64_div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

#endif
