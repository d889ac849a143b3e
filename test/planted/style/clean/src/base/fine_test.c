/* SPDX-License-Identifier: Apache-2.0 */
/* It does not sleep(), it waits for nobody. */
static const char *const text = "sleep(1)";
void test(void)
{
    socketpair(1, 2, 3, 0);
    port->sleep(1);
}
