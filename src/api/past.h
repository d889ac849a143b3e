/* SPDX-License-Identifier: Apache-2.0 */
/* past.h - jobs that have left the core, and histories, from the store's facts. */
#ifndef API_PAST_H
#define API_PAST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/job.h"
#include "core/recount.h"

#define PAST_HISTORY_MAX 10000 /* newest moves of one job */

struct past;

struct past_job {
    struct job_spec spec;
    struct job_run run;
};

int past_open(const char *state_dir, struct past **ret, struct err *err) ATTR_MUST_USE;
void past_free(struct past *past);

/* The job as it was when it ended. E_NOTFOUND: it has not ended, as far as the disk
 * knows. Release with past_job_release(). */
int past_find(struct past *past, uint32_t job, struct past_job *ret,
              struct err *err) ATTR_MUST_USE;
void past_job_release(struct past_job *job);

/* Appends the job's moves as a JSON array, oldest first. *ret_last is where the last one
 * led to: state, generation, size and batch; all 0 without any. */
int past_history(struct past *past, uint32_t job, struct buf *out,
                 struct recount_move *ret_last, struct err *err) ATTR_MUST_USE;

/* The newest of the job's moves that are durable; none of one that never was. */
int past_recount(struct past *past, uint32_t job, struct recount *ret,
                 struct err *err) ATTR_MUST_USE;

/* Called with each ended job, ascending by id; lent. 0: go on, 1: stop, or an error. */
typedef int (*past_fn)(void *arg, const struct past_job *job);
/* Those with an id above `after`. 0, or an error. */
int past_walk(struct past *past, uint32_t after, past_fn fn, void *arg,
              struct err *err) ATTR_MUST_USE;

#endif
