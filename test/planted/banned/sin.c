/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int copy(char *to, const char *from, time_t now);

int copy(char *to, const char *from, time_t now)
{
    strcpy(to, from);
    strcat(to, from);
    strncpy(to, from, 3);
    sprintf(to, "%s", from);
    strtok(to, ",");
    srand(1);
    return atoi(to) + rand() + gmtime(&now)->tm_year + localtime(&now)->tm_year;
}
