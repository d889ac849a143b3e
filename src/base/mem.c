/* SPDX-License-Identifier: Apache-2.0 */
/* mem.c - malloc and friends, with the overflow checks in one place. */
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>

void *mem_new(size_t n, size_t item_size)
{
    return calloc(n ? n : 1, item_size ? item_size : 1);
}

void *mem_resize(void *p, size_t n, size_t item_size)
{
    if (item_size && n > SIZE_MAX / item_size)
        return NULL;
    n *= item_size;
    return realloc(p, n > 0 ? n : 1);
}

void mem_free(void *p)
{
    free(p);
}
