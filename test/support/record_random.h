/* SPDX-License-Identifier: Apache-2.0 */
/* record_random.h - random records and their comparison
 * by table. So a
 * field that is added to a table is tested without anybody thinking of it. */
#ifndef TEST_SUPPORT_RECORD_RANDOM_H
#define TEST_SUPPORT_RECORD_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "wire/schema.h"

/* A stream for a test; prints the seed, as every random test does. */
struct rng record_rng(uint64_t seed);

/* Fills a zeroed record; a kinded one must have its kind already. Texts are UTF-8 with
 * everything that JSON escapes. Texts and pointers are on the heap. */
void record_random(const struct record_type *type, struct rng *rng, void *record);
/* Field by field; names the first difference in *ret_name. */
bool record_equal(const struct record_type *type, const void *a, const void *b,
                  const char **ret_name);
/* Frees texts and pointers. */
void record_release(const struct record_type *type, void *record);

#endif
