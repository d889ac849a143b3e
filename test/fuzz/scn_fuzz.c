/* SPDX-License-Identifier: Apache-2.0 */
/* scn_fuzz.c - bytes as a scenario: read or refused with a reason, never anything else;
 * what is read can be read again, with the same outcome. Running it is the story tests'
 * part. */
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "core/perf/model.h"
#include "sim/scenario.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct scenario scn;
    struct err err = {0};
    int rc;

    scenario_init(&scn);
    rc = scenario_read(&scn, (const char *)bytes, n, &err);
    if (rc < 0) {
        ASSERT(err.code == rc);
        ASSERT(err.text[0]);
        ASSERT(scn.n_jobs == 0);
    }
    for (size_t i = 0; i < scn.n_jobs; i++) {
        ASSERT(scn.jobs[i].truth.n_proc > 0);
        ASSERT(model_check(&scn.jobs[i].truth, NULL) == 0);
    }
    for (size_t i = 1; i < scn.n_actions; i++)
        ASSERT(scn.actions[i - 1].at_us <= scn.actions[i].at_us);
    scenario_release(&scn);
    return 0;
}
