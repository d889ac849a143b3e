/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - a failed ASSERT disables the client instead of ending its host.
 *
 * The code that libelastane shares with the daemon (frames, splits) asserts. Here the
 * function behind ASSERT jumps back to the public entry point, which then disables its
 * handle:
 *
 *     if (setjmp(*guard_arm()) == 0)
 *         action = client_step(e, samples);
 *     else
 *         action = client_disable(e);
 *     guard_disarm();
 */
#ifndef LIBELASTANE_GUARD_H
#define LIBELASTANE_GUARD_H

#include <setjmp.h>

/* Where a failed ASSERT of this thread goes until guard_disarm(). Guards do not nest. */
jmp_buf *guard_arm(void);
void guard_disarm(void);

#endif
