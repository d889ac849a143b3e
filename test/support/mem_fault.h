/* SPDX-License-Identifier: Apache-2.0 */
/* mem_fault.h - a heap that fails on request, in place of base/mem.c.
 *
 * Add mem_fault.c to a test's sources: it defines mem_new, mem_resize and mem_free, and
 * since those are then known before libbase.a is searched, the linker leaves mem.c out.
 * The usual loop fails the 1st, 2nd, 3rd ... allocation until nothing fails any more:
 *
 *     for (uint64_t nth = 1;; nth++) {
 *         mem_fault_arm(nth);
 *         rc = scenario();
 *         if (!mem_fault_disarm())
 *             break;
 *         assert_int_equal(rc, E_NOMEM);
 *     }
 *     assert_int_equal(mem_fault_blocks(), 0);
 *
 * It covers what goes through mem.h; libraries that call malloc are out of its reach. */
#ifndef TEST_SUPPORT_MEM_FAULT_H
#define TEST_SUPPORT_MEM_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lets the nth allocation from here on fail, and it alone; 1 is the next one. */
void mem_fault_arm(uint64_t nth);

/* Back to a heap that works. Tells whether an allocation was made to fail. */
bool mem_fault_disarm(void);

/* Allocations (mem_new and mem_resize) since the last arm. */
uint64_t mem_fault_calls(void);

/* Blocks that are allocated and not yet freed: the leaks, at the end of a test. */
size_t mem_fault_blocks(void);

#endif
