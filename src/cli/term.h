/* SPDX-License-Identifier: Apache-2.0 */
/* term.h - what standard output can show. */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include <stdbool.h>

/* Columns that lines may have: COLUMNS, else the terminal's; 0: no limit (no terminal).
 */
int term_width(void);
/* Colours on a terminal only, and not with NO_COLOR or TERM=dumb. */
bool term_has_colour(void);

#endif
