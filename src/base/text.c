/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - see text.h. strtoll is not used: it skips blanks, depends on the locale, needs
 * a terminator, and reports overflow through errno. Numbers are built up negative,
 * because INT64_MIN has no positive counterpart. */
#include "base/text.h"

#include <string.h>

/* How much of a bad text a message repeats. */
#define QUOTE_MAX 32

static int not_a_number(const char *text, size_t n, struct err *err)
{
    if (n == 0)
        return err_set(err, E_INVALID, "is empty; give a whole number");
    return err_set(err, E_INVALID, "'%.*s%s' is not a whole number",
                   n > QUOTE_MAX ? QUOTE_MAX : (int)n, text, n > QUOTE_MAX ? "..." : "");
}

static int out_of_range(const char *text, size_t n, const int64_t range[2],
                        struct err *err)
{
    return err_set(err, E_LIMIT, "'%.*s%s' is out of range; %lld to %lld",
                   n > QUOTE_MAX ? QUOTE_MAX : (int)n, text, n > QUOTE_MAX ? "..." : "",
                   (long long)range[0], (long long)range[1]);
}

int text_parse_int(const char *text, size_t n, int64_t min, int64_t max, int64_t *ret,
                   struct err *err)
{
    const int64_t range[2] = {min, max};
    bool negative = n > 0 && text[0] == '-';
    bool overflows = false;
    int64_t value = 0; /* minus the digits so far */

    if (n == (negative ? 1u : 0u))
        return not_a_number(text, n, err);
    for (size_t i = negative ? 1 : 0; i < n; i++) {
        int digit = text[i] - '0';

        if (digit < 0 || digit > 9)
            return not_a_number(text, n, err);
        overflows = overflows || value < (INT64_MIN + digit) / 10;
        if (!overflows)
            value = value * 10 - digit;
    }
    if (overflows || (!negative && value == INT64_MIN))
        return out_of_range(text, n, range, err);
    if (!negative)
        value = -value;
    if (value < min || value > max)
        return out_of_range(text, n, range, err);
    *ret = value;
    return 0;
}

bool text_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool text_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}
