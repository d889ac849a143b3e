/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - the daemon's answers as JSON (docs/api.md); reply.h reads them.
 *
 * Sorted keys, integers only. Errors stick in the buf. */
#ifndef WIRE_ANSWER_H
#define WIRE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/core.h"
#include "core/explain.h"
#include "core/recount.h"

#define ANSWER_MAX ((size_t)64 << 20)

/* A job as it is told. A live one has model and cluster, one that has ended neither. */
struct answer_job {
    const struct job_spec *spec;
    const struct job_run *run;
    const struct perf_model *model;
    const struct cluster *cluster;
    usec_t now_us;
    int32_t queue_place;  /* 0: not in the queue */
    int64_t samples_done; /* newer than the run record's when it is larger */
    int64_t rate_milli;   /* newer than the run record's when it is not 0 */
    const char *note;     /* one sentence about its reports; NULL: none */
    const char *history;  /* JSON array; NULL: left out */
};

void answer_job(const struct answer_job *job, struct buf *out);

/* {"nodes":[...]} */
void answer_nodes(const struct core *core, struct buf *out);

struct answer_status {
    const char *version;
    usec_t now_us;
    int64_t seq;
    int64_t pid;
    bool is_blocked;
    const char *blocked_reason;
};

void answer_status(const struct answer_status *status, const struct core *core,
                   struct buf *out);

/* Of submit and update: {"id":..,"warnings":[..]}; warnings one a line. */
void answer_accepted(uint32_t id, const char *warnings, struct buf *out);
/* Of cancel, pause, resume: {"id":..,"state":".."}. */
void answer_moved(uint32_t id, enum job_state state, struct buf *out);
/* Of a live job; the moves are told of one that holds no devices. */
void answer_explain(const struct explain *x, const struct recount *recount,
                    struct buf *out);
/* Of a job that has ended. */
void answer_recount(const struct job_spec *spec, const struct job_run *run,
                    const struct recount *recount, struct buf *out);
/* application/problem+json */
void answer_problem(int status, const char *title, const struct err *err,
                    struct buf *out);

/* Reads a fact of kind ENGINE_FACT_HISTORY. E_INVALID, E_VERSION or E_NOMEM. */
int answer_move_decode(const char *text, size_t len, struct recount_move *ret,
                       struct err *err) ATTR_MUST_USE;

/* Reads a fact of kind ENGINE_FACT_END or ENGINE_FACT_JOB. The records are to be released
 * by the caller (job_spec_release), also after a failure. E_INVALID, E_VERSION or
 * E_NOMEM. */
int answer_fact_decode(const char *text, size_t len, struct job_spec *ret_spec,
                       struct job_run *ret_run, struct err *err) ATTR_MUST_USE;

#endif
