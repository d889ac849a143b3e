/* SPDX-License-Identifier: Apache-2.0 */
/* submit_fuzz.c - bytes as the bodies of POST /v1/jobs and PATCH /v1/jobs/ID, and as
 * answers of a daemon: whatever comes over the socket. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "fuzz/fuzz_submit.h"
#include "wire/reply.h"
#include "wire/submit.h"

#include "fuzz.h"

static void try_update(const char *text, size_t n)
{
    struct job_spec spec = {.name = "a",
                            .level = JOB_ELASTIC,
                            .sizes = {.min = 1, .max = 4, .step = 1},
                            .batch_min = 128,
                            .batch_max = 1024};

    job_spec_complete(&spec);
    if (submit_decode_update(text, n, &spec, NULL) == 0)
        ASSERT(job_spec_check(&spec, NULL) == 0);
    else
        ASSERT(spec.batch_max == 1024 && spec.sizes.max == 4);
    job_spec_release(&spec);
}

static void try_answers(const char *text, size_t n)
{
    struct reply_job job = {0};
    struct reply_jobs jobs = {0};
    struct reply_nodes nodes = {0};
    struct reply_status status = {0};
    struct reply_calibration calibration = {0};
    struct reply_accepted accepted = {0};
    struct err err = {0};
    char *said = NULL;

    (void)reply_job_decode(text, n, &job, NULL);
    (void)reply_jobs_decode(text, n, &jobs, NULL);
    (void)reply_nodes_decode(text, n, &nodes, NULL);
    (void)reply_status_decode(text, n, &status, NULL);
    (void)reply_calibration_decode(text, n, &calibration, NULL);
    (void)reply_accepted_decode(text, n, &accepted, NULL);
    (void)reply_text_decode(text, n, &said, NULL);
    reply_problem_decode(text, n, 400, &err);
    ASSERT(err.code < 0 && err.text[0] != '\0');
    reply_job_release(&job);
    reply_jobs_release(&jobs);
    reply_nodes_release(&nodes);
    reply_calibration_release(&calibration);
    reply_accepted_release(&accepted);
    mem_free(said);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const char *text = n ? (const char *)bytes : "";
    struct submit submit;

    if (submit_decode(text, n, &submit, NULL) == 0) {
        ASSERT(job_spec_check(&submit.spec, NULL) == 0);
        ASSERT(submit.spec.launch && submit.launch.n_args > 0);
        fuzz_submit(&submit);
        submit_release(&submit);
    }
    try_update(text, n);
    try_answers(text, n);
    return 0;
}
