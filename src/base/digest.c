/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c - FNV-1a with 64 bits (Fowler, Noll, Vo): xor a byte in, multiply by the
 * prime. Small, without tables, and its result is defined for any machine. */
#include "base/digest.h"

#include <string.h>

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x00000100000001b3)

void digest_init(struct digest *d)
{
    d->value = FNV_BASIS;
}

void digest_add(struct digest *d, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t value = d->value;

    for (size_t i = 0; i < n; i++)
        value = (value ^ p[i]) * FNV_PRIME;
    d->value = value;
}

void digest_add_u64(struct digest *d, uint64_t number)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    digest_add(d, bytes, sizeof bytes);
}

void digest_add_text(struct digest *d, const char *text)
{
    digest_add(d, text, strlen(text) + 1);
}
