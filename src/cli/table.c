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
#include "cli/wrap.h"

#define CELL_MAX ((size_t)4096)
#define GAP      2
#define ELLIPSIS "\xe2\x80\xa6"

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

/* Those of a table as it will be printed. */
struct layout {
    size_t widths[TABLE_COLUMNS_MAX];
    bool is_shown[TABLE_COLUMNS_MAX];
    size_t last; /* the last column that is shown */
};

/* Natural widths of what is shown; the sum with the gaps. */
static size_t measure(const struct table *t, struct layout *l)
{
    size_t total = 0;

    for (size_t c = 0; c < t->n_columns; c++) {
        if (!l->is_shown[c])
            continue;
        l->widths[c] = table_text_width(t->columns[c].title);
        for (size_t i = c; i < t->n_cells; i += t->n_columns) {
            size_t w = table_text_width(t->cells[i]);

            if (w > l->widths[c])
                l->widths[c] = w;
        }
        total += l->widths[c] + (total > 0 ? GAP : 0);
        l->last = c;
    }
    return total;
}

/* The column that gives way next: the one that is wrapped, since that loses nothing, else
 * the widest; n_columns: none can. */
static size_t choose_shrinking(const struct table *t, const struct layout *l)
{
    size_t widest = t->n_columns;

    for (size_t c = 0; c < t->n_columns; c++) {
        size_t least = t->columns[c].least;

        if (!l->is_shown[c] || least == 0 || l->widths[c] <= least)
            continue;
        if (t->is_wrapped && c + 1 == t->n_columns)
            return c;
        if (widest == t->n_columns || l->widths[c] > l->widths[widest])
            widest = c;
    }
    return widest;
}

static size_t choose_leaving(const struct table *t, const struct layout *l)
{
    size_t victim = t->n_columns;

    for (size_t c = 0; c < t->n_columns; c++)
        if (l->is_shown[c] && t->columns[c].rank > 0 &&
            (victim == t->n_columns || t->columns[c].rank > t->columns[victim].rank))
            victim = c;
    return victim;
}

static void lay_out(const struct table *t, size_t limit, struct layout *l)
{
    for (size_t c = 0; c < t->n_columns; c++)
        l->is_shown[c] = true;
    for (;;) {
        size_t total = measure(t, l);
        size_t c = 0;

        while (limit > 0 && total > limit &&
               (c = choose_shrinking(t, l)) < t->n_columns) {
            l->widths[c]--;
            total--;
        }
        if (limit == 0 || total <= limit)
            return;
        c = choose_leaving(t, l);
        if (c == t->n_columns)
            return;
        l->is_shown[c] = false;
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

/* The cell that is wrapped: words as they fit, further lines below the first. */
static void add_wrapped(struct buf *out, const char *text, size_t width, size_t column)
{
    while (*text) {
        size_t n = wrap_line(text, width);
        struct buf piece;

        buf_init(&piece, CELL_MAX);
        buf_add(&piece, text, n);
        (void)add_cut(out, piece.text, width);
        buf_release(&piece);
        text += n;
        text += strspn(text, " ");
        if (*text) {
            buf_putc(out, '\n');
            add_blanks(out, column);
        }
    }
}

struct row {
    char *const *cells; /* NULL: the titles */
    int state_column;   /* to be coloured; -1: none */
};

static void add_line(const struct table *t, const struct layout *l, struct row row,
                     struct buf *out)
{
    size_t column = 0;

    for (size_t c = 0; c <= l->last; c++) {
        const char *text = row.cells ? row.cells[c] : t->columns[c].title;
        const char *colour = (int)c == row.state_column ? colour_of(text) : NULL;
        size_t used = table_text_width(text);

        if (!l->is_shown[c])
            continue;
        if (used > l->widths[c])
            used = l->widths[c];
        if (t->columns[c].align == TABLE_RIGHT)
            add_blanks(out, l->widths[c] - used);
        if (colour)
            buf_puts(out, colour);
        if (t->is_wrapped && c + 1 == t->n_columns)
            add_wrapped(out, text, l->widths[c], column);
        else
            (void)add_cut(out, text, l->widths[c]);
        if (colour)
            buf_puts(out, "\033[0m");
        if (c == l->last)
            break;
        if (t->columns[c].align == TABLE_LEFT)
            add_blanks(out, l->widths[c] - used);
        add_blanks(out, GAP);
        column += l->widths[c] + GAP;
    }
    buf_putc(out, '\n');
}

int table_print(const struct table *t, int width, int state_column, struct buf *out)
{
    struct layout l = {0};

    if (t->error)
        return t->error;
    ASSERT(t->n_cells % t->n_columns == 0);
    lay_out(t, (size_t)width, &l);
    add_line(t, &l, (struct row){NULL, -1}, out);
    for (size_t i = 0; i < t->n_cells; i += t->n_columns)
        add_line(t, &l, (struct row){&t->cells[i], state_column}, out);
    return buf_error(out);
}
