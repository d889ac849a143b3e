/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.h - text for people, broken between words so that lines fit the terminal. */
#ifndef CLI_WRAP_H
#define CLI_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* How many bytes of the text make its first line: as many words as `width` columns hold,
 * at least one word, however long that is. The blanks behind it are not counted. */
size_t wrap_line(const char *text, size_t width);

struct wrap {
    size_t at;     /* column where the text begins */
    size_t indent; /* column where its further lines begin */
    size_t width;  /* of a line; 0: no limit */
};

/* Prints the text, control characters as '?', without '\n' at its end. */
void wrap_print(FILE *out, const char *text, struct wrap w);
/* The same for a text of several lines; each ends with '\n'. Further pieces of a line
 * begin below its value where it has the form "  label   value", else at `indent`. */
void wrap_print_lines(FILE *out, const char *text, size_t indent, size_t width);

#endif
