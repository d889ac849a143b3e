/* SPDX-License-Identifier: Apache-2.0 */
/* jobscript_fuzz.c - bytes as the head of a script with #ELASTANE lines. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "fuzz/fuzz_submit.h"
#include "wire/jobscript.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct submit submit;
    struct job_places places;
    struct err err = {0};
    int32_t late = 0;

    if (jobscript_parse(n ? (const char *)bytes : "", n, &submit, &places, &late, &err) <
        0) {
        ASSERT(err.code < 0 && err.text[0] != '\0');
        ASSERT(places.fault.line > 0 || err.code == E_NOMEM || err.code == E_LIMIT);
        return 0;
    }
    fuzz_submit(&submit);
    submit_release(&submit);
    return 0;
}
