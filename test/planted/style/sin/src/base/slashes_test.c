/* SPDX-License-Identifier: Apache-2.0 */
void test(void)
{
    usleep(1000);
    connect(socket(1, 2, 3));
}
