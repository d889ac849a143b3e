/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - numbers out of text, and comparisons that read like sentences. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Reads all n bytes as a whole decimal number: digits, perhaps a '-' before them, nothing
 * else. Returns 0; E_INVALID when it is no number; E_LIMIT when it lies outside
 * [min, max]. err then quotes the text and tells the range. */
int text_parse_int(const char *text, size_t n, int64_t min, int64_t max, int64_t *ret,
                   struct err *err);

/* Both case-sensitive. */
bool text_equal(const char *a, const char *b);
bool text_starts_with(const char *text, const char *start);

#endif
