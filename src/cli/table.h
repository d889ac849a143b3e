/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - columns for people: as wide as what is in them, but never wider than the
 * terminal. Where room lacks, columns that may shrink are cut with an ellipsis down to
 * their least width; then whole columns are left out, the least important first. Control
 * characters are shown as '?', so that no answer can play with the terminal. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"

#define TABLE_COLUMNS_MAX 16

enum table_align { TABLE_LEFT, TABLE_RIGHT };

struct table_column {
    const char *title;
    enum table_align align;
    size_t least; /* may be cut to this width; 0: is never cut */
    int rank;     /* may be left out, the highest rank first; 0: never */
};

struct table {
    const struct table_column *columns; /* lent */
    size_t n_columns;
    char **cells; /* owned, row by row */
    size_t n_cells;
    size_t cap;
    int error;
    bool is_wrapped; /* the last column goes on below itself instead of being cut */
};

void table_init(struct table *t, const struct table_column *columns, size_t n);
void table_release(struct table *t);
/* The next cell. Errors stick: table_print() tells. */
void table_cell(struct table *t, const char *fmt, ...) ATTR_PRINTF(2, 3);
/* Appends the lines; width 0 is no limit. With colour, words of job and node states in
 * the column `state_column` (-1: none) are coloured. Returns 0 or E_NOMEM. */
int table_print(const struct table *t, int width, int state_column, struct buf *out);

/* Columns that a text takes: one per character of UTF-8. */
size_t table_text_width(const char *text);

#endif
