/* SPDX-License-Identifier: Apache-2.0 */
/* heap.c - the binary heap in an array: the children of i are 2i+1 and 2i+2.
 *
 * A heap alone is not stable, so each insertion gets a number and the order is that of
 * (key, number), which is total. Invariant: no item comes before its parent. Holes move
 * instead of items being swapped, so each level costs one copy. */
#include "base/heap.h"

#include "base/err.h"
#include "base/mem.h"

void heap_init(struct heap *heap)
{
    *heap = (struct heap){0};
}

void heap_release(struct heap *heap)
{
    mem_free(heap->items);
    heap_init(heap);
}

void heap_clear(struct heap *heap)
{
    heap->n = 0;
    heap->next_seq = 0;
}

static bool comes_before(const struct heap_item *a, const struct heap_item *b)
{
    if (a->key != b->key)
        return a->key < b->key;
    return a->seq < b->seq;
}

int heap_push(struct heap *heap, int64_t key, uint64_t id, void *data)
{
    struct heap_item item = {key, heap->next_seq, id, data};
    void *items = heap->items;
    size_t hole = heap->n;

    if (mem_reserve(&items, &heap->cap, heap->n + 1, sizeof item) < 0)
        return E_NOMEM;
    heap->items = items;
    heap->n++;
    heap->next_seq++;
    while (hole > 0 && comes_before(&item, &heap->items[(hole - 1) / 2])) {
        heap->items[hole] = heap->items[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap->items[hole] = item;
    return 0;
}

const struct heap_item *heap_first(const struct heap *heap)
{
    return heap->n > 0 ? &heap->items[0] : NULL;
}

/* Puts the item where the hole at the top sinks to. */
static void sink(struct heap *heap, const struct heap_item *item)
{
    size_t hole = 0;

    for (;;) {
        size_t child = 2 * hole + 1;

        if (child >= heap->n)
            break;
        if (child + 1 < heap->n &&
            comes_before(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (!comes_before(&heap->items[child], item))
            break;
        heap->items[hole] = heap->items[child];
        hole = child;
    }
    heap->items[hole] = *item;
}

bool heap_pop(struct heap *heap, struct heap_item *ret)
{
    struct heap_item last;

    if (heap->n == 0)
        return false;
    *ret = heap->items[0];
    last = heap->items[--heap->n];
    if (heap->n > 0)
        sink(heap, &last);
    return true;
}
