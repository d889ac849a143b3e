/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

int main(void)
{
    void *p = malloc(4);

    free(p);
    return 0;
}
