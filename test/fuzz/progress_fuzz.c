/* SPDX-License-Identifier: Apache-2.0 */
/* progress_fuzz.c - bytes as what a job appends to its progress file.
 *
 * The counter never falls, and how the bytes are cut into pieces changes nothing but what
 * counts as fallen. */
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "wire/progress.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct progress whole = PROGRESS_INIT;
    struct progress pieces = PROGRESS_INIT;
    size_t step = n > 0 ? bytes[0] % 7 + 1u : 1;

    progress_feed(&whole, (const char *)bytes, n);
    for (size_t at = 0; at < n; at += step) {
        int64_t known = pieces.samples;

        progress_feed(&pieces, (const char *)bytes + at, n - at < step ? n - at : step);
        ASSERT(pieces.samples >= known);
        ASSERT(pieces.n_part <= PROGRESS_LINE_MAX);
        ASSERT(pieces.n_fallen <= pieces.n_lines);
    }
    ASSERT(whole.n_fallen == 0);
    ASSERT(whole.samples == pieces.samples && whole.total == pieces.total);
    ASSERT(whole.n_lines == pieces.n_lines && whole.n_bad == pieces.n_bad);
    ASSERT(whole.n_part == pieces.n_part && whole.is_skipping == pieces.is_skipping);
    return 0;
}
