/* SPDX-License-Identifier: Apache-2.0 */
/* buf.c - see buf.h. A buffer without memory points at the literal "", which is never
 * written because every write goes through make_room() first; so text is never NULL. */
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.text = (char *)"", .max = max};
}

void buf_release(struct buf *b)
{
    if (b->cap)
        mem_free(b->text);
    buf_init(b, b->max);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->error = 0;
    if (b->cap)
        b->text[0] = '\0';
}

/* Makes room for n more bytes and the terminator. */
static int make_room(struct buf *b, size_t n)
{
    char *text = b->cap ? b->text : NULL;
    void *p = text;
    size_t cap = b->cap;

    if (b->error)
        return b->error;
    if (n > b->max || b->len > b->max - n)
        return b->error = E_LIMIT;
    if (mem_reserve(&p, &cap, b->len + n + 1, 1) < 0)
        return b->error = E_NOMEM;
    if (!b->cap)
        ((char *)p)[0] = '\0';
    b->text = p;
    b->cap = cap;
    return 0;
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
    if (n == 0 || make_room(b, n) < 0)
        return;
    memcpy(b->text + b->len, bytes, n);
    b->len += n;
    b->text[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

void buf_putc(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list args)
{
    va_list again;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, args);
    ASSERT(n >= 0);
    if (n > 0 && make_room(b, (size_t)n) == 0) {
        (void)vsnprintf(b->text + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    buf_vprintf(b, fmt, args);
    va_end(args);
}

void buf_pad(struct buf *b, size_t column)
{
    size_t start = b->len;

    while (start > 0 && b->text[start - 1] != '\n')
        start--;
    while (b->len - start < column && !b->error)
        buf_putc(b, ' ');
}

int buf_error(const struct buf *b)
{
    return b->error;
}

char *buf_take(struct buf *b)
{
    char *text = NULL;

    if (!b->error)
        text = b->cap ? b->text : mem_text("");
    if (!b->error && b->cap)
        b->cap = 0;
    buf_release(b);
    return text;
}
