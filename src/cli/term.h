/* SPDX-License-Identifier: Apache-2.0 */
/* term.h - what standard output can show. */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include <stdbool.h>
#include <stdio.h>

/* Columns that lines may have on standard output: COLUMNS, else the terminal's; 0: no
 * limit (no terminal). */
int term_width(void);
/* The same for standard error. */
int term_width_of_errors(void);
/* Colours on a terminal only, and not with NO_COLOR or TERM=dumb. */
bool term_has_colour(void);
/* Text of others, harmless to a terminal: each control character, also one of two bytes
 * (C1), is printed as '?', except those that `keep` names. */
void term_print(FILE *out, const char *text, const char *keep);
/* The same in place, where a character stays as long as it is. */
void term_tame(char *text, const char *keep);

#endif
