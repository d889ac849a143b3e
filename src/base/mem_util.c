/* SPDX-License-Identifier: Apache-2.0 */
/* mem_util.c - helpers over mem.h's three calls; apart from mem.c so that tests can
 * replace that file alone. */
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"

int mem_reserve(void **array, size_t *cap, size_t want, size_t item_size)
{
    size_t n = *cap ? *cap : 8;
    void *p;

    if (want <= *cap)
        return 0;
    while (n < want) {
        if (n > SIZE_MAX / 2)
            return E_NOMEM;
        n *= 2;
    }
    p = mem_resize(*array, n, item_size);
    if (!p)
        return E_NOMEM;
    *array = p;
    *cap = n;
    return 0;
}

char *mem_text(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = mem_new(n, 1);

    if (copy)
        memcpy(copy, text, n);
    return copy;
}
