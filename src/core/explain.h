/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - why a job has what it has (DESIGN 4.8). Asks the plan of this moment, which
 * is the same function that decides, and changes nothing. */
#ifndef CORE_EXPLAIN_H
#define CORE_EXPLAIN_H

#include "base/buf.h"
#include "core/core.h"
#include "core/perf/row.h"

/* A job that would give a device, or take one. */
struct explain_neighbour {
    uint32_t job; /* 0: none */
    char name[NAME_MAX_BYTES];
    int32_t from;      /* devices now */
    int32_t to;        /* devices then */
    int64_t value_ppm; /* change of its value, 1e-6 */
};

struct explain {
    uint32_t job;
    char name[NAME_MAX_BYTES];
    struct job_run run;
    enum model_source model;
    enum job_profile profile;
    bool is_noisy;
    struct row_option now;           /* size 0: holds nothing */
    struct row_option more;          /* the next larger size of its row; size 0: none */
    struct row_option less;          /* the next smaller one; size 0: none */
    struct row_option least;         /* its minimum; size 0: no size has a plan now */
    struct row_option target;        /* of the plan of this moment; size 0: none */
    struct explain_neighbour loser;  /* who would lose least if it took `more` */
    struct explain_neighbour spared; /* QUEUED: a job that the scaler leaves alone for a
                                        while, though this one waits for its devices */
    char spared_why[REASON_MAX_BYTES];
    bool is_planned; /* a plan concerns it now; what follows is 0 or empty otherwise */
    bool is_held_back;
    usec_t held_us;   /* held back, or `spared` is: longest span until it is looked at
                         again; USEC_NEVER: until something happens */
    usec_t retry_us;  /* span until its next attempt; 0: none is waited for */
    usec_t wait_us;   /* QUEUED: estimated span until it starts; USEC_NEVER: not known */
    int32_t n_ahead;  /* QUEUED: jobs that stand before it */
    int32_t free_now; /* devices of its type that nobody holds */
    int32_t up_now;   /* devices of its type on nodes that are up, less those withheld */
    int32_t withheld_now;            /* devices of its type that are withheld */
    char withheld[REASON_MAX_BYTES]; /* why they are; "" without any */
    bool is_certified;               /* the plan is proven optimal for its rows */
    int64_t objective;
    int64_t bound;
    char reason[REASON_MAX_BYTES];
    char note[128]; /* about its reports, by whoever hears them; explain_job says "" */
};

/* Returns 0, E_NOTFOUND or E_NOMEM. */
int explain_job(const struct core *core, uint32_t job, usec_t now_us, struct explain *ret,
                struct err *err);

/* The same for people: some lines of text. */
void explain_print(const struct explain *x, struct buf *out);

#endif
