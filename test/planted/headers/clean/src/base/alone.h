/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ALONE_H
#define BASE_ALONE_H
#include <stddef.h>
struct alone {
    size_t n;
};
#endif
