/* SPDX-License-Identifier: Apache-2.0 */
/* mem_fault.c - see mem_fault.h. Every block moves on resize, so that a pointer kept
 * over a resize is found by the address sanitizer. */
#include "support/mem_fault.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static uint64_t n_calls;
static uint64_t failing; /* number of the call that fails; 0: none */
static bool has_failed;
static size_t n_blocks;

/* Each block is preceded by its size; 16 bytes keep the alignment of malloc. */
#define HEADER 16

void mem_fault_arm(uint64_t nth)
{
    n_calls = 0;
    failing = nth;
    has_failed = false;
}

bool mem_fault_disarm(void)
{
    failing = 0;
    return has_failed;
}

uint64_t mem_fault_calls(void)
{
    return n_calls;
}

size_t mem_fault_blocks(void)
{
    return n_blocks;
}

static void *take(size_t n, size_t item_size)
{
    char *block;

    n_calls++;
    if (n_calls == failing) {
        has_failed = true;
        return NULL;
    }
    if (item_size && n > (SIZE_MAX - HEADER) / item_size)
        return NULL;
    block = calloc(1, HEADER + n * item_size);
    if (!block)
        return NULL;
    n *= item_size;
    memcpy(block, &n, sizeof n);
    n_blocks++;
    return block + HEADER;
}

void *mem_new(size_t n, size_t item_size)
{
    return take(n, item_size);
}

void *mem_resize(void *p, size_t n, size_t item_size)
{
    void *fresh = take(n, item_size);
    size_t old = 0;

    if (!fresh)
        return NULL;
    memset(fresh, 0xa5, n * item_size); /* new bytes are not cleared, says mem.h */
    if (!p)
        return fresh;
    memcpy(&old, (char *)p - HEADER, sizeof old);
    memcpy(fresh, p, old < n * item_size ? old : n * item_size);
    mem_free(p);
    return fresh;
}

void mem_free(void *p)
{
    if (!p)
        return;
    n_blocks--;
    free((char *)p - HEADER);
}
