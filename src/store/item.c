/* SPDX-License-Identifier: Apache-2.0 */
/* item.c - one allocation an item, so that taking it either works or leaves no trace. */
#include "store/item.h"

#include <string.h>

#include "base/mem.h"

/* Copies the text to *at, which moves behind it. */
static const char *put_text(char **at, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = *at;

    memcpy(copy, text, n);
    *at += n;
    return copy;
}

static size_t row_bytes(const struct engine_row *row)
{
    size_t n = row->n_facts * sizeof *row->facts + strlen(row->kind) +
               strlen(row->input) + strlen(row->changes) + 3;

    for (size_t i = 0; i < row->n_facts; i++)
        n += strlen(row->facts[i].json) + 1;
    return n;
}

struct item *item_new_row(const struct engine_row *row)
{
    struct item *item = mem_new(1, sizeof *item + row_bytes(row));
    struct engine_fact *facts;
    char *at;

    if (!item)
        return NULL;
    facts = (struct engine_fact *)(void *)(item + 1);
    at = (char *)(facts + row->n_facts);
    item->seq = row->seq;
    item->row = *row;
    item->row.kind = put_text(&at, row->kind);
    item->row.input = put_text(&at, row->input);
    item->row.changes = put_text(&at, row->changes);
    item->row.facts = facts;
    for (size_t i = 0; i < row->n_facts; i++) {
        facts[i] = row->facts[i];
        facts[i].json = put_text(&at, row->facts[i].json);
    }
    return item;
}

struct item *item_new_snapshot(int64_t seq, const char *text, size_t len)
{
    struct item *item = mem_new(1, sizeof *item + len);

    if (!item)
        return NULL;
    memcpy(item + 1, text, len);
    item->seq = seq;
    item->is_snapshot = true;
    item->text = (const char *)(item + 1);
    item->len = len;
    return item;
}

void items_put(struct item_list *list, struct item *item)
{
    if (list->last)
        list->last->next = item;
    else
        list->first = item;
    list->last = item;
    list->n++;
}

void items_move(struct item_list *to, struct item_list *from, size_t max)
{
    while (from->first && to->n < max) {
        struct item *item = from->first;

        from->first = item->next;
        from->n--;
        item->next = NULL;
        items_put(to, item);
    }
    if (!from->first)
        from->last = NULL;
}

void items_clear(struct item_list *list)
{
    while (list->first) {
        struct item *item = list->first;

        list->first = item->next;
        mem_free(item);
    }
    *list = (struct item_list){0};
}
