/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - the one function that a fuzz target defines.
 *
 * It must return 0, keep nothing between two calls, and take any bytes: every fault it
 * can be brought to is a bug. libFuzzer calls it (make fuzz), and replay.c does with the
 * seeds (make check). */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#endif
