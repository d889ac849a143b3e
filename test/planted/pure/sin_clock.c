/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

long sin_of_time(void);

long sin_of_time(void)
{
    return (long)time(NULL);
}
