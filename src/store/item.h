/* SPDX-License-Identifier: Apache-2.0 */
/* item.h - a row or a snapshot on its way to the disk, with texts of its own. */
#ifndef STORE_ITEM_H
#define STORE_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

struct item {
    struct item *next;
    int64_t seq;
    bool is_snapshot;
    struct engine_row row; /* a row: texts and facts lie behind this struct */
    const char *text;      /* a snapshot */
    size_t len;
};

struct item_list {
    struct item *first;
    struct item *last;
    size_t n;
};

/* NULL when out of memory. Free with mem_free(). */
struct item *item_new_row(const struct engine_row *row);
struct item *item_new_snapshot(int64_t seq, const char *text, size_t len);

void items_put(struct item_list *list, struct item *item);
/* Moves up to max items from the front of `from` to the empty list `to`. */
void items_move(struct item_list *to, struct item_list *from, size_t max);
void items_clear(struct item_list *list);

#endif
