/* SPDX-License-Identifier: Apache-2.0 */
/* mem.h - the one door to the heap for the pure layers.
 *
 * Tests link test/support/mem_fault.c in front of mem.c to let the nth allocation fail,
 * so nothing below `wire` may call malloc itself. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

/* Zeroed memory for n items of the given size; NULL when out of memory or on overflow.
 * n = 0 gives a valid pointer. */
void *mem_new(size_t n, size_t item_size);

/* Resizes *p to n items; new bytes are not cleared. On failure (NULL) *p is untouched. */
void *mem_resize(void *p, size_t n, size_t item_size);

/* Makes room for at least `want` items in an array that holds *cap, doubling from 8.
 * Returns 0 or E_NOMEM; on failure array and *cap are untouched. */
int mem_reserve(void **array, size_t *cap, size_t want, size_t item_size);

/* A copy of the text, or NULL. */
char *mem_text(const char *text);

/* NULL is allowed. */
void mem_free(void *p);

#endif
