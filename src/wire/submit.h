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

#define SUBMIT_BODY_MAX ((size_t)1 << 20)
#define LAUNCH_ARGS_MAX 4096 /* texts in argv */
#define LAUNCH_ENV_MAX  4096 /* variables */
#define LAUNCH_PATH_MAX 4096 /* bytes of cwd and log_dir, with the '\0' */

/* How to start one rank. All texts are owned. Both arrays end with NULL, ready for
 * execve; the environment is what the owner wants, to which the shim adds its own. */
struct launch_request {
    char **argv; /* argv[0] is looked up in the PATH of env unless it has a '/' */
    size_t n_args;
    char **env; /* "NAME=VALUE", names ascending and unique */
    size_t n_env;
    char *cwd;     /* absolute; NULL only before it was set */
    char *log_dir; /* absolute; NULL: the daemon's own directory of the job */
};

struct submit {
    struct job_spec spec; /* spec.launch is set by submit_decode() alone */
    bool has_model;
    struct perf_model model;
    struct launch_request launch;
    uint32_t given; /* BIT(JOB_FIELD_*) of what was said; see jobfield.h */
};

void launch_init(struct launch_request *launch);
void launch_release(struct launch_request *launch);
/* Append one text, or set one variable (a later value replaces an earlier one). E_NOMEM,
 * E_LIMIT, or E_INVALID when the name is empty or has a '='. */
int launch_add_arg(struct launch_request *launch, const char *arg, struct err *err);
int launch_set_env(struct launch_request *launch, const char *name, const char *value,
                   struct err *err);
void launch_clear_args(struct launch_request *launch);

/* {"argv":[...],"cwd":"...","env":{...},"log_dir":"..."}. E_INVALID when a text is not
 * UTF-8, E_LIMIT when the whole would pass LAUNCH_MAX_BYTES. */
int launch_encode(const struct launch_request *launch, struct buf *out, struct err *err);
/* The reverse; E_INVALID, E_LIMIT or E_NOMEM. */
int launch_decode(const char *text, size_t len, struct launch_request *ret,
                  struct err *err);

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
