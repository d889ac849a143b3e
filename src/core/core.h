/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - the scheduler as two pure functions (STYLE 1).
 *
 *     core_decide(core, event) -> changes        what the event means
 *     core_apply(core, change)                   the state with that change folded in
 *
 * The state is the fold of all changes. What the outside must do follows from the state
 * of a job alone: job_duty() in duty.h. Whoever drives the core (engine) must, in this
 * order: decide, make event and changes durable, apply them, and only then perform duties
 * and give answers. Events must come with times that never decrease. */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/change.h"
#include "core/cluster.h"
#include "core/event.h"
#include "core/job.h"

/* Raised by hand whenever any decision can come out differently (DESIGN 2). */
#define CORE_RULES 3

struct core; /* the state */

struct row_memo;

/* A live job, lent until the next core_apply. */
struct job {
    struct job_spec spec;
    struct job_run run;
    struct perf_model model;
    struct row_memo *memo; /* not a part of the state: see row_recall() */
};

struct core *core_new(void);
void core_free(struct core *core);

/* Decides. Appends to *out, which the caller emptied. Returns 0, or a negative E_* when
 * the event is refused: then nothing was appended, nothing happens, and err says why
 * (field, reason, what would be accepted). Refusals are answers to people; events that
 * come from shims and backends and no longer fit (an old incarnation) are accepted and
 * change nothing. */
int core_decide(const struct core *core, const struct event *event, struct changes *out,
                struct err *err);

/* Folds one change in. Returns 0 or E_NOMEM (state untouched). E_CORRUPT when the change
 * contradicts the state, which only a damaged journal can cause. */
int core_apply(struct core *core, const struct change *change);

/* The shortest list of changes that builds this state from an empty core; deterministic.
 */
int core_snapshot(const struct core *core, struct changes *out);

/* When EVENT_WAKE is wanted next; USEC_NEVER: not at all. */
usec_t core_next_wake(const struct core *core);
/* Whether EVENT_PLAN is wanted, and not before which time. */
bool core_needs_plan(const struct core *core, usec_t *ret_not_before_us);

const struct globals *core_globals(const struct core *core);
const struct config *core_config(const struct core *core);
const struct cluster *core_cluster(const struct core *core);
/* Jobs that are not in a final state, by id ascending. */
size_t core_n_jobs(const struct core *core);
const struct job *core_job_at(const struct core *core, size_t index);
const struct job *core_find_job(const struct core *core, uint32_t id);

/* The profile of a family, or NULL. Lent until the next core_apply. */
const struct profile *core_find_profile(const struct core *core, uint32_t uid,
                                        const char *family, const char *device_type);
size_t core_n_profiles(const struct core *core);
const struct profile *core_profile_at(const struct core *core, size_t index);

/* Walks the whole state and names the first broken invariant; 0 or E_CORRUPT. The list of
 * invariants stands in check.c. */
int core_check(const struct core *core, struct err *err);

#endif
