/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - one plan: what every job should have, which of it happens now, and why not the
 * rest. A pure function of the state and the time, so that deciding (plan_apply.c) and
 * explaining (explain.c) read the same answer. */
#ifndef CORE_PLAN_H
#define CORE_PLAN_H

#include "core/alloc/alloc.h"
#include "core/core.h"
#include "core/perf/row.h"
#include "core/policy/policy.h"

enum plan_act {
    PLAN_KEEP,   /* stays as it is */
    PLAN_START,  /* target with enough free devices now: `devices` says which */
    PLAN_RESIZE, /* the same for a running job: other size, other batch, or both */
    PLAN_AWAIT,  /* has a target, but the devices are still being released */
    PLAN_WAIT,   /* stays in the queue */
    PLAN_DROP,
    PLAN_YIELD, /* back to the queue: the capacity shrank */
};

struct plan_item {
    const struct job *job;
    int32_t type;          /* the knapsack it belongs to: index of its device type in the
                              cluster's types; -1: there are no such devices */
    const struct row *row; /* lent by the job, until its next plan */
    enum policy_standing standing;
    struct row_option now;    /* of the plan in force; size 0: none */
    struct row_option target; /* size 0: none */
    enum plan_act act;
    bool is_forced;        /* lost devices, or a plan that is no longer allowed */
    bool is_for_admission; /* a shrink that makes room for a waiting job */
    bool is_held_back;     /* the scaler left it as it is; why: reason */
    bool is_spared;        /* held back although a waiting job needs its devices */
    bool is_on_probation;  /* its row ends at the size that is to be measured next */
    bool is_on_trial;      /* inside plan_make only: was free when a trial began */
    usec_t held_until_us;  /* the hold may end then; USEC_NEVER: with the next event */
    int32_t nodes_needed;  /* placement needed this many nodes for size nodes_for */
    int32_t nodes_for;
    int32_t *devices; /* target.size of them, for PLAN_START and PLAN_RESIZE */
    char reason[REASON_MAX_BYTES];
};

/* Memory that planning keeps from one plan to the next, so that a plan of ten thousand
 * jobs does not ask for megabytes anew. Not a part of any state. */
struct plan_scratch;

struct plan_scratch *plan_scratch_new(void);
void plan_scratch_free(struct plan_scratch *scratch);
/* The core's own (core.c). */
struct plan_scratch *core_plan_scratch(const struct core *core);

struct plan {
    struct plan_scratch *scratch; /* lent by the core; the items live in it */
    struct plan_item *items; /* running and pinned ones by id, then the queue in order */
    int32_t n_items;
    int32_t n_types;
    struct alloc_result result; /* summed over device types; certified if all are */
    usec_t wake_us;             /* when a held-back move may become right; USEC_NEVER */
};

/* Returns 0 or E_NOMEM; release in both cases, and before the next plan of this core. */
int plan_make(const struct core *core, usec_t now_us, struct plan *ret);
void plan_release(struct plan *plan);

const struct plan_item *plan_find(const struct plan *plan, uint32_t job);

#endif
