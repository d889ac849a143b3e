/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

void *memory(void);

void *memory(void)
{
    return malloc(1);
}
