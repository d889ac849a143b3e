/* SPDX-License-Identifier: Apache-2.0 */
/* jobfile_fuzz.c - bytes as a YAML job file.
 *
 * A refusal must name a reason; a job that was read must survive completion and, when it
 * can be written at all, come back from its JSON as the same JSON. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "fuzz/fuzz_submit.h"
#include "wire/jobfile.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct submit submit;
    struct job_places places;
    struct err err = {0};

    if (jobfile_parse(n ? (const char *)bytes : "", n, &submit, &places, &err) < 0) {
        ASSERT(err.code < 0 && err.text[0] != '\0');
        return 0;
    }
    fuzz_submit(&submit);
    submit_release(&submit);
    return 0;
}
