/* SPDX-License-Identifier: Apache-2.0 */
/* record_testing.h - random records and their comparison, by table; for tests only. So a
 * field that is added to a table is tested without anybody thinking of it. */
#ifndef WIRE_RECORD_TESTING_H
#define WIRE_RECORD_TESTING_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/schema.h"

struct dice {
    uint64_t state;
};

/* Prints the seed, as every random test does. */
struct dice dice_init(uint64_t seed);
/* 0 .. n - 1; n > 0. */
uint32_t dice_roll(struct dice *d, uint32_t n);

/* Fills a zeroed record; a kinded one must have its kind already. Texts are UTF-8 with
 * everything that JSON escapes. Texts and pointers are on the heap. */
void record_random(const struct record_type *type, struct dice *d, void *record);
/* Field by field; names the first difference in *ret_name. */
bool record_equal(const struct record_type *type, const void *a, const void *b,
                  const char **ret_name);
/* Frees texts and pointers. */
void record_release(const struct record_type *type, void *record);

#endif
