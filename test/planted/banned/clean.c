/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct dice {
    int rand; /* a field may have the name */
};

int copy(char *to, size_t n, const char *from, const struct dice *dice);

int copy(char *to, size_t n, const char *from, const struct dice *dice)
{
    return snprintf(to, n, "%s", from) + (int)strtol(to, NULL, 10) + dice->rand;
}
