/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - finds where the values in a JSON text begin and end.
 *
 * Knows strings and brackets and judges nothing: on damaged text it still stops within
 * the text, and the parser that reads the pieces says what is wrong. All functions take a
 * position and give one that is not smaller and at most len. */
#ifndef WIRE_SCAN_H
#define WIRE_SCAN_H

#include <stddef.h>

/* The first position that is no blank. */
size_t scan_blanks(const char *text, size_t len, size_t at);
/* The position behind the string that begins at `at`. */
size_t scan_string(const char *text, size_t len, size_t at);
/* The ',', ']' or '}' that follows the value at `at`. */
size_t scan_value(const char *text, size_t len, size_t at);

#endif
