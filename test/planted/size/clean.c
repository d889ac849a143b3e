/* SPDX-License-Identifier: Apache-2.0 */
int f(int a, int b, int c, int d, int e, int g);

int f(int a, int b, int c, int d, int e, int g)
{
    if (a) {
        if (b) {
            if (c)
                return d;
        }
    }
    return e + g;
}
