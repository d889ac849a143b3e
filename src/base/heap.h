/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - a priority queue: smallest key first, equal keys in order of insertion.
 *
 * Calendar of the simulator and store of timers. An entry cannot be withdrawn; owners
 * that cancel mark their own record and skip it when it comes up. The heap never touches
 * what `data` points at. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_item {
    int64_t key;  /* most often a moment in microseconds */
    uint64_t seq; /* number of the insertion; breaks ties */
    uint64_t id;  /* id and data mean what the owner likes */
    void *data;
};

struct heap {
    struct heap_item *items;
    size_t n;
    size_t cap;
    uint64_t next_seq;
};

void heap_init(struct heap *heap);
void heap_release(struct heap *heap);
/* Empties the heap and starts numbering anew; the memory stays. */
void heap_clear(struct heap *heap);

/* Returns 0, or E_NOMEM with the heap untouched. */
int heap_push(struct heap *heap, int64_t key, uint64_t id, void *data);

/* The first item, lent until the heap changes; NULL when it is empty. */
const struct heap_item *heap_first(const struct heap *heap);

/* Takes the first item out; false (and *ret untouched) when the heap is empty. */
bool heap_pop(struct heap *heap, struct heap_item *ret);

#endif
