/* SPDX-License-Identifier: Apache-2.0 */
int f(int a);

int f(int a)
{
    if (a > 1) {
        while (a > 2) {
            if (a > 3) {
                if (a > 4) {
                    a--;
                }
            }
            a--;
        }
    }
    return a;
}
