/* SPDX-License-Identifier: Apache-2.0 */
/* assert.h - catches our mistakes, never the user's; stays on in release builds.
 *
 * A failed ASSERT ends the process: a scheduler that restarts beats one that is wrong.
 * One fact per line. ASSERT_SLOW walks whole structures and exists in debug builds only.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

#include "base/attr.h"

/* Prints nothing and returns never; the place is left in assert_failure for the core
 * dump. */
ATTR_NORETURN void assert_failed(const char *fact, const char *file, int line);

#define ASSERT(fact) ((fact) ? (void)0 : assert_failed(#fact, __FILE__, __LINE__))

#ifdef NDEBUG
#define ASSERT_SLOW(fact) ((void)0)
#else
#define ASSERT_SLOW(fact) ASSERT(fact)
#endif

#endif
