/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h - a 64-bit fingerprint of bytes (FNV-1a): equal runs, equal digests.
 *
 * For comparing states and naming streams, not for security. Integers go in as eight
 * bytes, least significant first, so the digest is the same on every machine. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct digest {
    uint64_t value; /* of what was added so far; always valid */
};

void digest_init(struct digest *d);
void digest_add(struct digest *d, const void *bytes, size_t n);
void digest_add_u64(struct digest *d, uint64_t number);
/* The text and its terminator, so that "ab","c" and "a","bc" differ. */
void digest_add_text(struct digest *d, const char *text);

#endif
