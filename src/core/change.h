/* SPDX-License-Identifier: Apache-2.0 */
/* change.h - what a decision did to the state, as facts.
 *
 * A change says "this record is now so"; it is not an instruction, and applying it
 * computes nothing. So recovery never decides again, and a snapshot is simply the
 * shortest list of changes that builds the state. The list of kinds is append-only. */
#ifndef CORE_CHANGE_H
#define CORE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cluster.h"
#include "core/config.h"
#include "core/job.h"
#include "core/perf/model.h"

/* The scalars of the state. */
struct globals {
    uint32_t next_job;   /* id of the next submit */
    int64_t next_order;  /* place in the queue of the next arrival */
    int64_t head_order;  /* smaller than any in use: for a job that returns to the head */
    usec_t now_us;       /* time of the newest event; never decreases */
    usec_t planned_us;   /* time of the newest plan */
    usec_t plan_wake_us; /* a held-back move may become right then; USEC_NEVER: none */
    usec_t confirm_until_us; /* jobs that are unconfirmed then are lost; 0: none are */
    usec_t since_us;         /* time of the first event */
    bool needs_plan;
    usec_t wanted_us; /* needs_plan: since when */
    int64_t plans;
    int64_t arrivals; /* counted since the start, for the mean time between events */
    int64_t departures;
};

/* What is known of a family of jobs (DESIGN 4.1): a prior for the next job of it. */
struct profile {
    uint32_t uid;
    char family[NAME_MAX_BYTES];
    char device_type[NAME_MAX_BYTES];
    bool is_removed; /* in a change only: the profile is forgotten */
    usec_t updated_us;
    struct perf_model model;
};

enum change_kind {
    CHANGE_GLOBALS, /* globals */
    CHANGE_CONFIG,  /* config */
    CHANGE_NODE,    /* node */
    CHANGE_HOLD,    /* hold */
    CHANGE_SPEC,    /* spec: a new job, or an updated one */
    CHANGE_MODEL,   /* job, model */
    CHANGE_RUN,     /* run; one in a final state removes the job from the core */
    CHANGE_PROFILE, /* profile, by (uid, family, device_type) */
    CHANGE_MARK,    /* mark, by device; one that is clean is taken away */
    CHANGE_KIND_MAX
};

struct change {
    enum change_kind kind;
    union {
        struct globals globals;
        struct config config;
        struct node node;
        struct hold hold;
        struct job_spec *spec; /* owned */
        struct {
            uint32_t job;
            struct perf_model *model; /* owned */
        } model;
        struct job_run run;
        struct profile *profile; /* owned */
        struct device_mark mark;
    } u;
};

struct changes {
    struct change *items;
    size_t n;
    size_t cap;
};

void changes_init(struct changes *changes);
void changes_release(struct changes *changes);
/* Empties the list; the memory stays. */
void changes_clear(struct changes *changes);
/* Drops the changes from index n on (n <= changes->n): how a step that fails halfway
 * leaves no trace. */
void changes_truncate(struct changes *changes, size_t n);

/* Appends a zeroed change of this kind and lends it until the next append; NULL when out
 * of memory. */
struct change *changes_add(struct changes *changes, enum change_kind kind);

const char *change_kind_name(enum change_kind kind);

#endif
