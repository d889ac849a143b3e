/* SPDX-License-Identifier: Apache-2.0 */
/* recount.h - what became of a job, for people: explain.h for one that no plan concerns
 * any more (it has ended) or just now (it is paused). The moves are those of its history,
 * each with the reason that was given when it was made. */
#ifndef CORE_RECOUNT_H
#define CORE_RECOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/job.h"

#define RECOUNT_MOVES_MAX 12 /* the newest, that are worth telling */

struct recount_move {
    usec_t time_us;
    enum job_state state;
    struct job_plan plan; /* size 0: no devices */
    char reason[REASON_MAX_BYTES];
};

/* Of one job, oldest first. */
struct recount {
    struct recount_move moves[RECOUNT_MOVES_MAX];
    size_t n;
    int64_t n_before; /* older ones that are not told */
};

/* Some lines of text about a job that has ended. Errors stick in the buf. */
void recount_print(const struct job_spec *spec, const struct job_run *run,
                   const struct recount *recount, struct buf *out);
/* The lines of its moves alone; none without a move. */
void recount_print_moves(const struct job_run *run, const struct recount *recount,
                         struct buf *out);

#endif
