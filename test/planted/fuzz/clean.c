/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char room[4] = {0};

    for (size_t i = 0; i < n && i < sizeof room; i++)
        room[i] = (char)bytes[i];
    return room[0] == 'x' ? 0 : 0;
}
