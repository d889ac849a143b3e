/* SPDX-License-Identifier: Apache-2.0 */
/* quantity.c - small recursive-free readers over one cursor.
 *
 * Each reader takes what it can from the front of the text and moves the cursor; the
 * public functions insist that nothing is left. Values are integers from the start, so
 * "0.1" is exactly 100000 millionths: nothing is ever rounded, what cannot be held
 * exactly is refused. */
#include "wire/quantity.h"

#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/span.h"
#include "core/limits.h"

#define NSEC_PER_USEC 1000
#define WHOLE_DIGITS  18 /* digits before the point that surely fit an int64_t */

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit second_units[] = {
    {"ns", 1},
    {"us", NSEC_PER_USEC},
    {"ms", NSEC_PER_USEC *USEC_PER_MSEC},
    {"s", NSEC_PER_USEC *USEC_PER_SEC},
    {NULL, 0},
};

/* Longer names first, where one begins with another. */
static const struct unit byte_units[] = {
    {"KiB", (int64_t)1 << 10}, {"MiB", (int64_t)1 << 20}, {"GiB", (int64_t)1 << 30},
    {"TiB", (int64_t)1 << 40}, {"K", (int64_t)1 << 10},   {"M", (int64_t)1 << 20},
    {"G", (int64_t)1 << 30},   {"T", (int64_t)1 << 40},   {NULL, 0},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at the cursor. False when there is none or they do not fit. */
static bool take_digits(const char **at, int64_t *ret)
{
    const char *p = *at;
    int64_t value = 0;

    while (is_digit(*p)) {
        if (value > (INT64_MAX - (*p - '0')) / 10)
            return false;
        value = value * 10 + (*p++ - '0');
    }
    if (p == *at)
        return false;
    *at = p;
    *ret = value;
    return true;
}

/* A decimal at the cursor as value / scale, scale a power of ten up to 1e9. */
static bool take_decimal(const char **at, int64_t *ret_value, int64_t *ret_scale)
{
    const char *p = *at;
    int64_t value, scale = 1;

    if (!take_digits(&p, &value))
        return false;
    if (*p == '.') {
        if (!is_digit(*++p))
            return false;
        for (; is_digit(*p); p++) {
            if (scale >= 1000000000 || value > (INT64_MAX - 9) / 10)
                return false;
            value = value * 10 + (*p - '0');
            scale *= 10;
        }
    }
    *at = p;
    *ret_value = value;
    *ret_scale = scale;
    return true;
}

static const struct unit *take_unit(const char **at, const struct unit *units)
{
    for (const struct unit *u = units; u->name; u++) {
        size_t n = strlen(u->name);

        if (strncmp(*at, u->name, n) == 0) {
            *at += n;
            return u;
        }
    }
    return NULL;
}

/* value/scale x factor, exactly. */
static bool scaled(int64_t value, int64_t scale, int64_t factor, int64_t *ret)
{
    int64_t product;

    if (value != 0 && factor > INT64_MAX / value)
        return false;
    product = value * factor;
    if (product % scale != 0)
        return false;
    *ret = product / scale;
    return true;
}

int quantity_count(const char *text, int64_t min, int64_t max, int64_t *ret,
                   struct err *err)
{
    const char *p = text;
    int64_t value;

    if (!take_digits(&p, &value) || *p != '\0')
        return err_set(err, E_INVALID,
                       "is '%.40s'; give a whole number from %lld to %lld", text,
                       (long long)min, (long long)max);
    if (value < min || value > max)
        return err_set(err, E_INVALID, "is %lld; give %lld to %lld", (long long)value,
                       (long long)min, (long long)max);
    *ret = value;
    return 0;
}

int quantity_decimal(const char *text, int digits, int64_t *ret, struct err *err)
{
    const char *p = text;
    int64_t value, scale, factor = 1;

    ASSERT(digits >= 0 && digits <= WHOLE_DIGITS);
    for (int i = 0; i < digits; i++)
        factor *= 10;
    if (!take_decimal(&p, &value, &scale) || *p != '\0' ||
        !scaled(value, scale, factor, &value))
        return err_set(err, E_INVALID,
                       "is '%.40s'; give a number such as 1.5, with at most %d decimals",
                       text, digits);
    *ret = value;
    return 0;
}

int quantity_span(const char *text, usec_t *ret, struct err *err)
{
    usec_t span = 0;

    if (span_parse(text, &span, NULL) < 0 || span < 0)
        return err_set(err, E_INVALID,
                       "is '%.40s'; give a span with its unit (us, ms, s, m, h, d), "
                       "such as 30s or 1h30m",
                       text);
    *ret = span;
    return 0;
}

int quantity_seconds_ns(const char *text, int64_t *ret, struct err *err)
{
    const char *p = text;
    int64_t value, scale;
    const struct unit *u;

    if (!take_decimal(&p, &value, &scale))
        goto bad;
    u = *p ? take_unit(&p, second_units) : &second_units[3];
    if (!u || *p != '\0' || !scaled(value, scale, u->factor, &value))
        goto bad;
    *ret = value;
    return 0;
bad:
    return err_set(err, E_INVALID,
                   "is '%.40s'; give seconds such as 0.138, or 138ms, no finer than 1ns",
                   text);
}

int quantity_bytes(const char *text, int64_t *ret, struct err *err)
{
    const char *p = text;
    int64_t value, scale;
    const struct unit *u;

    if (strcmp(text, "0") == 0) {
        *ret = 0;
        return 0;
    }
    if (!take_decimal(&p, &value, &scale))
        goto bad;
    u = take_unit(&p, byte_units);
    if (!u || *p != '\0' || !scaled(value, scale, u->factor, &value))
        goto bad;
    *ret = value;
    return 0;
bad:
    return err_set(err, E_INVALID,
                   "is '%.40s'; give an amount with its unit (K, M, G, T), such as 16G",
                   text);
}

/* "a" or "a..b" at the cursor, both up to max. */
static bool take_range(const char **at, int64_t max, int32_t *ret_min, int32_t *ret_max)
{
    int64_t lo, hi;

    if (!take_digits(at, &lo))
        return false;
    hi = lo;
    if (strncmp(*at, "..", 2) == 0) {
        *at += 2;
        if (!take_digits(at, &hi))
            return false;
    }
    if (lo > max || hi > max)
        return false;
    *ret_min = (int32_t)lo;
    *ret_max = (int32_t)hi;
    return true;
}

int quantity_range(const char *text, int64_t max, int32_t *ret_min, int32_t *ret_max,
                   struct err *err)
{
    const char *p = text;
    int32_t lo, hi;

    ASSERT(max <= INT32_MAX);
    if (!take_range(&p, max, &lo, &hi) || *p != '\0')
        return err_set(err, E_INVALID,
                       "is '%.40s'; give one number such as 256, or a range such as "
                       "128..1024, up to %lld",
                       text, (long long)max);
    if (lo < 1)
        return err_set(err, E_INVALID, "begins at %d; give 1 or more", lo);
    if (hi < lo)
        return err_set(err, E_INVALID,
                       "is %d..%d; the first number must not be above the second", lo,
                       hi);
    *ret_min = lo;
    *ret_max = hi;
    return 0;
}

static int bad_sizes(const char *text, struct err *err)
{
    return err_set(err, E_INVALID,
                   "is '%.40s'; give one size (4), a range (1..8), a range in steps "
                   "(2..8/2) or a list (1,2,4), up to %d",
                   text, SIZE_MAX_DEVICES);
}

static int list_of_sizes(const char *text, struct size_set *set, struct err *err)
{
    const char *p = text;
    int64_t size;

    for (;;) {
        if (set->n_listed == SIZES_LISTED_MAX)
            return err_set(err, E_LIMIT, "lists more than %d sizes; give a range",
                           SIZES_LISTED_MAX);
        if (!take_digits(&p, &size) || size > SIZE_MAX_DEVICES)
            return bad_sizes(text, err);
        if (size < 1)
            return err_set(err, E_INVALID, "lists 0; the least size is 1");
        if (set->n_listed > 0 && size <= set->listed[set->n_listed - 1])
            return err_set(err, E_INVALID, "lists %lld after %d; sizes must rise",
                           (long long)size, set->listed[set->n_listed - 1]);
        set->listed[set->n_listed++] = (int32_t)size;
        if (*p == '\0')
            break;
        if (*p++ != ',')
            return bad_sizes(text, err);
    }
    set->min = set->listed[0];
    set->max = set->listed[set->n_listed - 1];
    set->step = 1;
    return 0;
}

int quantity_sizes(const char *text, struct size_set *ret, struct err *err)
{
    struct size_set set = {.step = 1};
    const char *p = text;
    int64_t step = 1;
    int rc;

    if (strchr(text, ',')) {
        rc = list_of_sizes(text, &set, err);
        if (rc < 0)
            return rc;
        *ret = set;
        return 0;
    }
    if (!take_range(&p, SIZE_MAX_DEVICES, &set.min, &set.max))
        return bad_sizes(text, err);
    if (*p == '/') {
        p++;
        if (!take_digits(&p, &step) || step < 1 || step > SIZE_MAX_DEVICES)
            return bad_sizes(text, err);
    }
    if (*p != '\0')
        return bad_sizes(text, err);
    if (set.min < 1)
        return err_set(err, E_INVALID, "begins at %d; the least size is 1", set.min);
    if (set.max < set.min)
        return err_set(err, E_INVALID,
                       "is %d..%d; the first number must not be above the second",
                       set.min, set.max);
    set.step = (int32_t)step;
    *ret = set;
    return 0;
}

int quantity_samples(const char *text, int64_t *ret, struct err *err)
{
    const char *p = text;
    int64_t a, b = 1;

    if (!take_digits(&p, &a))
        goto bad;
    p += strspn(p, " ");
    if (*p == 'x') {
        p++;
        p += strspn(p, " ");
        if (!take_digits(&p, &b))
            goto bad;
    }
    if (*p != '\0')
        goto bad;
    if (a < 1 || b < 1 || a > TRAINED_MAX / b)
        return err_set(err, E_INVALID, "is '%.40s'; give at least 1 sample, at most 2^53",
                       text);
    *ret = a * b;
    return 0;
bad:
    return err_set(err, E_INVALID,
                   "is '%.40s'; give a number of samples such as 600000, or epochs x "
                   "samples such as 10x60000",
                   text);
}
