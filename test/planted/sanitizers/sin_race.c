/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stddef.h>

static int count;

static void *add(void *arg)
{
    for (int i = 0; i < 100000; i++)
        count++;
    return arg;
}

int main(void)
{
    pthread_t one, two;

    if (pthread_create(&one, NULL, add, NULL) != 0)
        return 0;
    if (pthread_create(&two, NULL, add, NULL) != 0)
        return 0;
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
