/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>

int main(int argc, char **argv)
{
    int n = INT_MAX;

    (void)argv;
    n += argc;
    return n == 3;
}
