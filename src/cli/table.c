/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - see table.h. Widths count characters, not bytes and not the double width of
 * East Asian letters; a job's name may have those, and then its line is a little off. */
#include "cli/table.h"

#include <stdarg.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "cli/term.h"

#define CELL_MAX     ((size_t)4096)
#define GAP          2
#define SHRINK_LEAST 8
#define ELLIPSIS     "\xe2\x80\xa6"

void table_init(struct table *t, const struct table_column *columns, size_t n)
{
    ASSERT(n > 0 && n <= TABLE_COLUMNS_MAX);
    *t = (struct table){.columns = columns, .n_columns = n};
}

void table_release(struct table *t)
{
    for (size_t i = 0; i < t->n_cells; i++)
        mem_free(t->cells[i]);
    mem_free(t->cells);
    t->cells = NULL;
    t->n_cells = t->cap = 0;
}

void table_cell(struct table *t, const char *fmt, ...)
{
    void *cells = t->cells;
    struct buf b;
    va_list args;
    char *text;

    buf_init(&b, CELL_MAX);
    va_start(args, fmt);
    buf_vprintf(&b, fmt, args);
    va_end(args);
    text = buf_take(&b);
    if (t->error || !text ||
        mem_reserve(&cells, &t->cap, t->n_cells + 1, sizeof *t->cells) < 0) {
        mem_free(text);
        t->error = E_NOMEM;
        return;
    }
    term_tame(text, "");
    t->cells = cells;
    t->cells[t->n_cells++] = text;
}

size_t table_text_width(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* Natural widths, then the shrinking columns give way, the widest first. */
static void choose_widths(const struct table *t, size_t limit, size_t *widths)
{
    size_t total = GAP * (t->n_columns - 1);

    for (size_t c = 0; c < t->n_columns; c++) {
        widths[c] = table_text_width(t->columns[c].title);
        for (size_t i = c; i < t->n_cells; i += t->n_columns) {
            size_t w = table_text_width(t->cells[i]);

            if (w > widths[c])
                widths[c] = w;
        }
        total += widths[c];
    }
    while (limit > 0 && total > limit) {
        size_t widest = t->n_columns;

        for (size_t c = 0; c < t->n_columns; c++)
            if (t->columns[c].may_shrink && widths[c] > SHRINK_LEAST &&
                (widest == t->n_columns || widths[c] > widths[widest]))
                widest = c;
        if (widest == t->n_columns)
            return;
        widths[widest]--;
        total--;
    }
}

/* At most `width` columns of the text; how many were used. */
static size_t add_cut(struct buf *out, const char *text, size_t width)
{
    size_t full = table_text_width(text);
    size_t keep = full > width ? width - 1 : full;
    size_t n = 0, i = 0;

    while (text[i] && (n < keep || ((unsigned char)text[i] & 0xc0) == 0x80)) {
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
        i++;
    }
    buf_add(out, text, i);
    if (full > width)
        buf_puts(out, ELLIPSIS);
    return full > width ? width : full;
}

static const char *colour_of(const char *state)
{
    static const struct {
        const char *state;
        const char *colour;
    } colours[] = {
        {"running", "\033[32m"},  {"done", "\033[32m"},     {"up", "\033[32m"},
        {"failed", "\033[31m"},   {"lost", "\033[31m"},     {"dropped", "\033[31m"},
        {"queued", "\033[33m"},   {"starting", "\033[36m"}, {"resizing", "\033[36m"},
        {"stopping", "\033[36m"}, {"paused", "\033[33m"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(colours); i++)
        if (strcmp(state, colours[i].state) == 0)
            return colours[i].colour;
    return NULL;
}

static void add_blanks(struct buf *out, size_t n)
{
    while (n-- > 0)
        buf_putc(out, ' ');
}

static void add_line(const struct table *t, char *const *cells, const size_t *widths,
                     int state_column, struct buf *out)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        const char *text = cells ? cells[c] : t->columns[c].title;
        size_t used = table_text_width(text);
        const char *colour = cells && (int)c == state_column ? colour_of(text) : NULL;

        if (used > widths[c])
            used = widths[c];
        if (t->columns[c].align == TABLE_RIGHT)
            add_blanks(out, widths[c] - used);
        if (colour)
            buf_puts(out, colour);
        (void)add_cut(out, text, widths[c]);
        if (colour)
            buf_puts(out, "\033[0m");
        if (c + 1 == t->n_columns)
            break;
        if (t->columns[c].align == TABLE_LEFT)
            add_blanks(out, widths[c] - used);
        add_blanks(out, GAP);
    }
    buf_putc(out, '\n');
}

int table_print(const struct table *t, int width, int state_column, struct buf *out)
{
    size_t widths[TABLE_COLUMNS_MAX];

    if (t->error)
        return t->error;
    ASSERT(t->n_cells % t->n_columns == 0);
    choose_widths(t, (size_t)width, widths);
    add_line(t, NULL, widths, -1, out);
    for (size_t i = 0; i < t->n_cells; i += t->n_columns)
        add_line(t, &t->cells[i], widths, state_column, out);
    return buf_error(out);
}
