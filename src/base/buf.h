/* SPDX-License-Identifier: Apache-2.0 */
/* buf.h - a growing text, born with a maximum.
 *
 * Errors stick: after the first failure further additions do nothing, and buf_error()
 * tells. So a long run of additions is checked once, at its end. The text is always
 * terminated. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

#include "base/attr.h"

struct buf {
    char *text; /* never NULL after buf_init */
    size_t len; /* without the final '\0' */
    size_t cap;
    size_t max; /* largest len */
    int error;  /* 0, E_NOMEM or E_LIMIT */
};

/* max is the largest length the text may reach. No allocation happens here. */
void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b);
/* Empties the text and forgets the error; the memory stays. */
void buf_clear(struct buf *b);

void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_puts(struct buf *b, const char *text);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) ATTR_PRINTF(2, 3);
void buf_vprintf(struct buf *b, const char *fmt, va_list args) ATTR_PRINTF(2, 0);
/* Blanks until the text since the last '\n' is `column` characters long. */
void buf_pad(struct buf *b, size_t column);

/* 0, or what went wrong first. */
int buf_error(const struct buf *b);
/* Hands the text over (free with mem_free) and leaves b empty; NULL if b has an error. */
char *buf_take(struct buf *b);

#endif
