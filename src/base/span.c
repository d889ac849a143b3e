/* SPDX-License-Identifier: Apache-2.0 */
/* span.c - see span.h. One table of units, largest first, serves both directions. */
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct unit {
    const char *name;
    usec_t length;
} units[] = {
    {"d", USEC_PER_DAY}, {"h", USEC_PER_HOUR},  {"m", USEC_PER_MIN},
    {"s", USEC_PER_SEC}, {"ms", USEC_PER_MSEC}, {"us", 1},
};

#define UNIT_SECOND 3

/* |span|, also of INT64_MIN. */
static uint64_t magnitude(usec_t span)
{
    return span < 0 ? -(uint64_t)span : (uint64_t)span;
}

const char *span_clock(usec_t span, char text[SPAN_TEXT_MAX])
{
    uint64_t seconds = magnitude(span) / (uint64_t)USEC_PER_SEC;

    if (span == USEC_NEVER)
        (void)snprintf(text, SPAN_TEXT_MAX, "never");
    else
        (void)snprintf(text, SPAN_TEXT_MAX, "%s%llu:%02u:%02u",
                       span < 0 && seconds > 0 ? "-" : "",
                       (unsigned long long)(seconds / 3600),
                       (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60));
    return text;
}

const char *span_words(usec_t span, char text[SPAN_TEXT_MAX])
{
    const char *sign = span < 0 ? "-" : "";
    uint64_t rest = magnitude(span);
    uint64_t first, second;
    size_t i = 0;

    if (span == USEC_NEVER) {
        (void)snprintf(text, SPAN_TEXT_MAX, "never");
        return text;
    }
    while (i + 1 < ARRAY_SIZE(units) && rest < (uint64_t)units[i].length)
        i++;
    if (rest == 0)
        i = UNIT_SECOND;
    first = rest / (uint64_t)units[i].length;
    rest %= (uint64_t)units[i].length;
    second = i + 1 < ARRAY_SIZE(units) ? rest / (uint64_t)units[i + 1].length : 0;
    if (second > 0)
        (void)snprintf(text, SPAN_TEXT_MAX, "%s%llu%s %llu%s", sign,
                       (unsigned long long)first, units[i].name,
                       (unsigned long long)second, units[i + 1].name);
    else
        (void)snprintf(text, SPAN_TEXT_MAX, "%s%llu%s", sign, (unsigned long long)first,
                       units[i].name);
    return text;
}

static int bad_span(const char *text, int code, const char *reason, struct err *err)
{
    return err_set(err, code, "'%.32s' %s; write for example 30s, 5m, 1h30m or 2d", text,
                   reason);
}

static const char *skip_blanks(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

/* Index of the unit whose name are the letters at p; ARRAY_SIZE(units): none. */
static size_t find_unit(const char *p, size_t n_letters)
{
    size_t i = 0;

    while (i < ARRAY_SIZE(units) && (strlen(units[i].name) != n_letters ||
                                     strncmp(units[i].name, p, n_letters) != 0))
        i++;
    return i;
}

static size_t count_letters(const char *p)
{
    size_t n = 0;

    while ((p[n] >= 'a' && p[n] <= 'z') || (p[n] >= 'A' && p[n] <= 'Z'))
        n++;
    return n;
}

/* Reads the digits at *p; false on overflow. */
static bool take_digits(const char **p, int64_t *ret)
{
    int64_t value = 0;

    for (; **p >= '0' && **p <= '9'; (*p)++) {
        int digit = **p - '0';

        if (value > (INT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

/* Reads one number with its unit at *p and adds it to *sum. *next_unit is the largest
 * unit that may still come. Returns NULL, or what is wrong; *ret_code goes with it. */
static const char *take_part(const char **p, usec_t *sum, size_t *next_unit,
                             int *ret_code)
{
    int64_t count;
    size_t n_letters, unit;

    *ret_code = E_INVALID;
    if (**p < '0' || **p > '9')
        return "is not a span of time";
    *ret_code = E_LIMIT;
    if (!take_digits(p, &count))
        return "is too long";
    *ret_code = E_INVALID;
    n_letters = count_letters(*p);
    if (n_letters == 0)
        return **p == '\0' ? "lacks a unit" : "is not a span of time";
    unit = find_unit(*p, n_letters);
    if (unit == ARRAY_SIZE(units))
        return "has an unknown unit (d, h, m, s, ms and us are known)";
    if (unit < *next_unit)
        return "has its units in the wrong order (largest first, each once)";
    *ret_code = E_LIMIT;
    if (count > (USEC_NEVER - 1 - *sum) / units[unit].length)
        return "is too long";
    *sum += count * units[unit].length;
    *next_unit = unit + 1;
    *p += n_letters;
    return NULL;
}

int span_parse(const char *text, usec_t *ret, struct err *err)
{
    const char *p = skip_blanks(text);
    const char *wrong = NULL;
    usec_t sum = 0;
    size_t next_unit = 0;
    int code = 0;

    if (*p == '\0')
        return err_set(err, E_INVALID,
                       "is empty; write for example 30s, 5m, 1h30m or 2d");
    if (p[0] == '0' && *skip_blanks(p + 1) == '\0') {
        *ret = 0;
        return 0;
    }
    while (*p != '\0') {
        wrong = take_part(&p, &sum, &next_unit, &code);
        if (wrong)
            return bad_span(text, code, wrong, err);
        p = skip_blanks(p);
    }
    *ret = sum;
    return 0;
}
