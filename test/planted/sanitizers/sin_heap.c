/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

int main(int argc, char **argv)
{
    char *p = malloc(4);
    char c;

    (void)argv;
    if (!p)
        return 0;
    p[0] = 'a';
    free(p);
    c = p[argc - 1];
    return c == 'b';
}
