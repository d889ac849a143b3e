/* SPDX-License-Identifier: Apache-2.0 */
int f(int a, int b, int c, int d, int e, int g, int h);

int f(int a, int b, int c, int d, int e, int g, int h)
{
    return a + b + c + d + e + g + h;
}
