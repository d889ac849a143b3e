/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - numbers out of text, and comparisons that read like sentences. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

/* Reads all n bytes as a whole decimal number: digits, perhaps a '-' before them, nothing
 * else. Returns 0; E_INVALID when it is no number; E_LIMIT when it lies outside
 * [min, max]. err then quotes the text and tells the range. */
int text_parse_int(const char *text, size_t n, int64_t min, int64_t max, int64_t *ret,
                   struct err *err);

/* Copies text into `to`, which has cap (at least 1) bytes. What does not fit is taken
 * out of the middle of the longest word, else out of the middle of the whole, and "..."
 * stands there: so of "cannot open LONG PATH: no space" the cause stays, and where the
 * path begins and ends. No UTF-8 character is cut in two. */
void text_fit(char *to, size_t cap, const char *text);
/* The same for what printf would write. Of a text beyond TEXT_FIT_MAX the end is lost. */
#define TEXT_FIT_MAX 8960
void text_fit_printf(char *to, size_t cap, const char *fmt, ...) ATTR_PRINTF(3, 4);
void text_fit_vprintf(char *to, size_t cap, const char *fmt, va_list args)
    ATTR_PRINTF(3, 0);

/* Both case-sensitive. */
bool text_equal(const char *a, const char *b);
bool text_starts_with(const char *text, const char *start);

#endif
