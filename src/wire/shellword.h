/* SPDX-License-Identifier: Apache-2.0 */
/* shellword.h - words of a command as a shell takes them back: what is printed may be
 * pasted. */
#ifndef WIRE_SHELLWORD_H
#define WIRE_SHELLWORD_H

#include "base/buf.h"

/* Appends the word: as it is where no shell sees more in it than letters, else within
 * single quotes. One with control characters is written $'...', so that it stays on one
 * line and a terminal is safe from it. Errors stick in the buf. */
void shell_word(const char *word, struct buf *out);

#endif
