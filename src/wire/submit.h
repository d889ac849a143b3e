/* SPDX-License-Identifier: Apache-2.0 */
/* submit.h - what a person hands in: a job's spec, how fast it runs if they know, and how
 * to launch it; as a struct and as the body of POST /v1/jobs and PATCH /v1/jobs/ID
 * (docs/api.md).
 *
 * Flags, job files and script lines fill the struct through jobfield.h; the command line
 * encodes it; the daemon decodes it. Decoding is strict: unknown and duplicate keys and
 * wrong types are refused with the key's path as the field. The JSON of `launch` is what
 * job_spec.launch holds, opaque to the core, and what backends read with launch_decode().
 */
#ifndef WIRE_SUBMIT_H
#define WIRE_SUBMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/job.h"
#include "core/perf/model.h"
#include "wire/launch.h"

#define SUBMIT_BODY_MAX ((size_t)1 << 20)

struct submit {
    struct job_spec spec; /* spec.launch is set by submit_decode() alone */
    bool has_model;
    struct perf_model model;
    struct launch_request launch;
    char *exported; /* what --export says; owned; NULL: nothing */
    uint32_t given; /* BIT(JOB_FIELD_*) of what was said; see jobfield.h */
};

/* Zeroes; the defaults come with submit_complete(). */
void submit_init(struct submit *submit);
void submit_release(struct submit *submit);

/* Fills in what nobody said: one device, the level (rigid for one size and one batch,
 * restartable for a range of either), then job_spec_complete(). */
void submit_complete(struct submit *submit);

/* The body of POST /v1/jobs. Errors as launch_encode(). */
int submit_encode(const struct submit *submit, struct buf *out, struct err *err);
/* Decodes, completes and checks (job_spec_check, model_check). uid, gid and id are 0:
 * they come from the peer and the core. spec.launch is set. */
int submit_decode(const char *text, size_t len, struct submit *ret, struct err *err);

/* The body of PATCH /v1/jobs/ID: only the fields in `given`; E_INVALID when one of them
 * cannot change. */
int submit_encode_update(const struct submit *submit, struct buf *out, struct err *err);
/* Folds such a body into a spec and checks the result. *inout is untouched on failure. */
int submit_decode_update(const char *text, size_t len, struct job_spec *inout,
                         struct err *err);

#endif
