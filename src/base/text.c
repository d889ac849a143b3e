/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - see text.h. strtoll is not used: it skips blanks, depends on the locale, needs
 * a terminator, and reports overflow through errno. Numbers are built up negative,
 * because INT64_MIN has no positive counterpart. */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* How much of a bad text a message repeats. */
#define QUOTE_MAX 32
/* Less room than this is too little to show both ends. */
#define FIT_LEAST 16

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

/* The longest run without blanks; returns its length. */
static size_t longest_word(const char *text, size_t *ret_at)
{
    size_t longest = 0;
    size_t n = 0;

    *ret_at = 0;
    for (size_t at = 0; text[at]; at++) {
        n = text[at] == ' ' ? 0 : n + 1;
        if (n > longest) {
            longest = n;
            *ret_at = at + 1 - n;
        }
    }
    return longest;
}

static bool is_inside(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

void text_fit(char *to, size_t cap, const char *text)
{
    static const char mark[] = "...";
    size_t n = strlen(text);
    size_t begin, end, word, too_many;

    if (n < cap || cap < FIT_LEAST) { /* libelastane has no assertions that end it */
        n = n < cap ? n : cap - 1;
        memcpy(to, text, n);
        to[n] = '\0';
        return;
    }
    too_many = n - (cap - 1) + sizeof mark - 1;
    word = longest_word(text, &begin);
    if (word < too_many + 2) { /* no word is that long */
        begin = 0;
        word = n;
    }
    begin += (word - too_many) / 2;
    end = begin + too_many;
    while (begin > 0 && is_inside(text[begin]))
        begin--;
    while (is_inside(text[end]))
        end++;
    memcpy(to, text, begin);
    memcpy(to + begin, mark, sizeof mark - 1);
    memcpy(to + begin + sizeof mark - 1, text + end, n - end + 1);
}

/* Apart, because it needs so much of the stack. */
static void fit_long(char *to, size_t cap, const char *fmt, va_list args)
    ATTR_PRINTF(3, 0);

static void fit_long(char *to, size_t cap, const char *fmt, va_list args)
{
    char whole[TEXT_FIT_MAX];

    (void)vsnprintf(whole, sizeof whole, fmt, args);
    text_fit(to, cap, whole);
}

void text_fit_vprintf(char *to, size_t cap, const char *fmt, va_list args)
{
    va_list again;
    int n;

    va_copy(again, args);
    n = vsnprintf(to, cap, fmt, args);
    if (n < 0)
        to[0] = '\0';
    else if ((size_t)n >= cap)
        fit_long(to, cap, fmt, again);
    va_end(again);
}

void text_fit_printf(char *to, size_t cap, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    text_fit_vprintf(to, cap, fmt, args);
    va_end(args);
}

bool text_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool text_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}
