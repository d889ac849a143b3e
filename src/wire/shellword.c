/* SPDX-License-Identifier: Apache-2.0 */
/* shellword.c - see shellword.h. Bytes of UTF-8 stand as they are; a control character of
 * two bytes (C1) is one too. */
#include "wire/shellword.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("%+,-./:=@_", c) != NULL) || c >= 0x80;
}

static size_t control_bytes(const char *p)
{
    unsigned char c = (unsigned char)p[0];
    unsigned char next = (unsigned char)p[1];

    if (c < ' ' || c == 0x7f)
        return 1;
    return c == 0xc2 && next >= 0x80 && next <= 0x9f ? 2 : 0;
}

static void add_escaped(const char *word, struct buf *out)
{
    buf_puts(out, "$'");
    for (const char *p = word; *p; p++) {
        size_t n = control_bytes(p);

        if (*p == '\n')
            buf_puts(out, "\\n");
        else if (*p == '\t')
            buf_puts(out, "\\t");
        else if (n > 0)
            buf_printf(out, "\\%03o", (unsigned)(unsigned char)*p);
        else if (*p == '\'' || *p == '\\')
            buf_printf(out, "\\%c", *p);
        else
            buf_putc(out, *p);
        if (n == 2)
            buf_printf(out, "\\%03o", (unsigned)(unsigned char)*++p);
    }
    buf_putc(out, '\'');
}

static void add_quoted(const char *word, struct buf *out)
{
    buf_putc(out, '\'');
    for (const char *p = word; *p; p++) {
        if (*p == '\'')
            buf_puts(out, "'\\''");
        else
            buf_putc(out, *p);
    }
    buf_putc(out, '\'');
}

void shell_word(const char *word, struct buf *out)
{
    bool needs_quotes = word[0] == '\0';
    bool has_control = false;

    for (const char *p = word; *p; p++) {
        needs_quotes = needs_quotes || !is_plain((unsigned char)*p);
        has_control = has_control || control_bytes(p) > 0;
    }
    if (has_control)
        add_escaped(word, out);
    else if (needs_quotes)
        add_quoted(word, out);
    else
        buf_puts(out, word);
}
