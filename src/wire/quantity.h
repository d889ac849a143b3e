/* SPDX-License-Identifier: Apache-2.0 */
/* quantity.h - the numbers that people write: counts, decimals, spans of time, amounts of
 * memory, ranges and lists of sizes. All of the text must fit; no locale, no exponent, no
 * sign, no blanks but where named.
 *
 * On failure *ret is untouched and err (field "") says what is wrong and what would be
 * accepted. Errors: E_INVALID, E_LIMIT. */
#ifndef WIRE_QUANTITY_H
#define WIRE_QUANTITY_H

#include <stdint.h>

#include "base/err.h"
#include "base/units.h"
#include "core/job.h"

/* "128": digits only. min..max bounds the value. */
int quantity_count(const char *text, int64_t min, int64_t max, int64_t *ret,
                   struct err *err);
/* "1.5" in units of 10^-digits, rounded never: more digits than that are refused. */
int quantity_decimal(const char *text, int digits, int64_t *ret, struct err *err);
/* "30s", "1h30m", "2d", "500ms": base/span.h. A unit is required, but for "0". */
int quantity_span(const char *text, usec_t *ret, struct err *err);
/* Seconds with or without a unit: "0.138", "138ms", "90us"; in nanoseconds. */
int quantity_seconds_ns(const char *text, int64_t *ret, struct err *err);
/* "512M", "16G", "1.5T", "16GiB": powers of 1024. A unit is required, but for "0". */
int quantity_bytes(const char *text, int64_t *ret, struct err *err);
/* "128..1024" or "256". */
int quantity_range(const char *text, int64_t max, int32_t *ret_min, int32_t *ret_max,
                   struct err *err);
/* "4", "1..8", "2..8/2" (2, 4, 6, 8) or "1,2,4". */
int quantity_sizes(const char *text, struct size_set *ret, struct err *err);
/* "600000", or epochs x samples: "10x60000", "10 x 60000". */
int quantity_samples(const char *text, int64_t *ret, struct err *err);

#endif
