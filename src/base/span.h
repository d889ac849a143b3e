/* SPDX-License-Identifier: Apache-2.0 */
/* span.h - spans of time as people write and read them.
 *
 * Units: us ms s m h d. Everything is rounded toward zero when shown, never when read. */
#ifndef BASE_SPAN_H
#define BASE_SPAN_H

#include <stddef.h>

#include "base/err.h"
#include "base/units.h"

#define SPAN_TEXT_MAX 48 /* room for any span as text, with the '\0' */

/* "0:00:30", "26:03:59": hours, minutes, seconds; "-0:00:01"; "never". Returns text. */
const char *span_clock(usec_t span, char text[SPAN_TEXT_MAX]);

/* The two largest units, if the second is not 0: "250ms", "30s", "2h 5m", "3d 4h", "0s";
 * "-5m"; "never". span_parse() understands it, but for "never". Returns text. */
const char *span_words(usec_t span, char text[SPAN_TEXT_MAX]);

/* Reads "30s", "2h", "1d", "1h30m", "1h 30m", "250ms", "0": whole numbers with units,
 * largest unit first, blanks between them allowed. Returns 0; E_INVALID; E_LIMIT when it
 * is too long for usec_t. err then says what would be accepted. */
int span_parse(const char *text, usec_t *ret, struct err *err);

#endif
