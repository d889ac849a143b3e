/* SPDX-License-Identifier: Apache-2.0 */
enum colour { RED, GREEN, BLUE };

int number(enum colour c);

int number(enum colour c)
{
    switch (c) {
    case RED:
        return 1;
    case GREEN:
        return 2;
    case BLUE:
        break;
    }
    return 0;
}
