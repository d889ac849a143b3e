/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

static const char *const names[] = {"one", "two"};

size_t clean(int i);

size_t clean(int i)
{
    return strlen(names[i]);
}
