/* SPDX-License-Identifier: Apache-2.0 */
/* suggest.h - which of the known words was meant. */
#ifndef WIRE_SUGGEST_H
#define WIRE_SUGGEST_H

#include <stddef.h>

/* The index-th known word, NULL past the end. */
typedef const char *(*suggest_word_fn)(const void *ctx, size_t index);

/* The known word with the fewest single-letter edits from `word`; the first of equals.
 * NULL when even that one differs by more than a third of its letters. */
const char *suggest_nearest(const char *word, suggest_word_fn known, const void *ctx);

#endif
