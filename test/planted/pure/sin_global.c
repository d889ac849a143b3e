/* SPDX-License-Identifier: Apache-2.0 */
int sin_of_memory(void);

int sin_of_memory(void)
{
    static int calls;

    return ++calls;
}
