/* SPDX-License-Identifier: Apache-2.0 */
/* assert.c - the end of a process that found itself wrong.
 *
 * A pure layer has no output, so the text of the fact travels on the stack, where a
 * debugger or a core dump shows it as the arguments of this frame. */
#include "base/assert.h"

#include <stdlib.h>

void assert_failed(const char *fact, const char *file, int line)
{
    (void)fact;
    (void)file;
    (void)line;
    abort();
}
