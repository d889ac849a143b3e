/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.c - see wrap.h. Where a value would have less than VALUE_LEAST columns beside its
 * label, it goes on nearer to the edge: a narrow terminal shows words, not a stair of
 * letters. */
#include "cli/wrap.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "cli/table.h"
#include "cli/term.h"

#define VALUE_LEAST 20
#define LABEL_LEAST 4  /* where a value goes on instead */
#define LABEL_MOST  24 /* columns; what begins further right is no value */
#define PIECE_MAX   ((size_t)1 << 20)

static bool is_inside(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

size_t wrap_line(const char *text, size_t width)
{
    size_t columns = 0, n = 0, fits = 0;

    for (; text[n] && text[n] != '\n'; n++) {
        if (text[n] == ' ' && n > 0 && text[n - 1] != ' ')
            fits = n;
        if (is_inside(text[n]))
            continue;
        columns++;
        if (columns > width && fits > 0)
            return fits;
    }
    return n;
}

/* `len` bytes of the text. */
static void print_piece(FILE *out, const char *text, size_t len)
{
    struct buf piece;

    buf_init(&piece, PIECE_MAX);
    buf_add(&piece, text, len);
    term_print(out, piece.text, "\t");
    buf_release(&piece);
}

static void print_line(FILE *out, const char *text, size_t len, struct wrap w)
{
    const char *end = text + len;
    size_t indent = w.indent;

    if (w.width == 0) {
        print_piece(out, text, len);
        return;
    }
    if (indent + VALUE_LEAST > w.width && indent > LABEL_LEAST)
        indent = LABEL_LEAST;
    for (size_t at = w.at;; at = indent) {
        size_t n = wrap_line(text, w.width > at ? w.width - at : 1);

        print_piece(out, text, n);
        text += n;
        text += strspn(text, " \n"); /* a line that ends by itself is one, too */
        if (text >= end)
            return;
        (void)fprintf(out, "\n%*s", (int)indent, "");
    }
}

void wrap_print(FILE *out, const char *text, struct wrap w)
{
    print_line(out, text, strlen(text), w);
}

/* Behind "  label   " the column of the value; 0: the line has no such form. */
static size_t value_column(const char *line, size_t len)
{
    size_t n = 0;

    if (len < 3 || line[0] != ' ' || line[1] != ' ' || line[2] == ' ')
        return 0;
    for (n = 2; n + 1 < len && !(line[n] == ' ' && line[n + 1] == ' '); n++)
        ;
    while (n < len && line[n] == ' ')
        n++;
    return n < len && n <= LABEL_MOST ? n : 0;
}

void wrap_print_lines(FILE *out, const char *text, size_t indent, size_t width)
{
    if (width == 0) {
        size_t len = strlen(text);

        term_print(out, text, "\n\t");
        if (len > 0 && text[len - 1] != '\n')
            (void)fputc('\n', out);
        return;
    }
    while (*text) {
        size_t len = strcspn(text, "\n");
        size_t column = value_column(text, len);
        struct wrap w = {.indent = column > 0 ? column : indent, .width = width};

        print_line(out, text, len, w);
        (void)fputc('\n', out);
        text += len;
        text += *text == '\n';
    }
}
