/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

static void *volatile kept;

int main(void)
{
    kept = malloc(4);
    kept = NULL;
    return 0;
}
