/* SPDX-License-Identifier: Apache-2.0 */
/* plan_apply.c - EVENT_PLAN: the moves of a plan as changes.
 *
 * Order within the step: what leaves (yields, drops), forced moves, shrinks, starts,
 * other moves, and last the words of those that wait. Every new plan of a job takes the
 * next generation, every set of processes the next incarnation; numbers are never used
 * again, not even those of a resize that is called off. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "core/decide.h"
#include "core/plan.h"

static struct job_plan next_plan(struct job_run *run, const struct row_option *target)
{
    return (struct job_plan){
        .generation = ++run->generation,
        .size = target->size,
        .global_batch = target->global_batch,
        .micro_batch = target->micro_batch,
        .accumulation = target->accumulation,
    };
}

/* What the moves of one plan say about each other. */
struct telling {
    int32_t n_beside; /* jobs that have devices, or were started by this plan so far */
    const char *newcomer; /* the first of the waiting jobs that get devices; NULL: none */
    int32_t n_newcomers;
};

static struct telling telling_of(const struct plan *plan)
{
    struct telling t = {0};

    for (int32_t i = 0; i < plan->n_items; i++) {
        const struct plan_item *item = &plan->items[i];

        if (item->standing != POLICY_WAITING) {
            t.n_beside++;
        } else if (item->target.size > 0) {
            if (!t.newcomer)
                t.newcomer = item->job->spec.name;
            t.n_newcomers++;
        }
    }
    return t;
}

static void start(struct draft *d, struct telling *t, const struct plan_item *item)
{
    struct job_run run = item->job->run;
    int32_t others = t->n_beside++;

    run.plan = next_plan(&run, &item->target);
    run.incarnation++;
    run.moved_us = d->now_us;
    run.rate_milli = 0;
    run.cause = JOB_CAUSE_NONE;
    run.exit_code = 0;
    if (others == 0)
        job_move(&run, JOB_STARTING, JOB_STARTING, d->now_us, "alone in the cluster");
    else
        job_move(&run, JOB_STARTING, JOB_STARTING, d->now_us, "fits beside %d job%s",
                 others, others == 1 ? "" : "s");
    draft_put_run(d, &run);
    for (int32_t i = 0; i < item->target.size; i++)
        draft_put_hold(d, item->devices[i], run.id, HOLD_NOW | HOLD_NEXT);
}

static void name_newcomers(const struct telling *t, char *text, size_t size)
{
    if (t->n_newcomers > 1)
        (void)snprintf(text, size, "makes room for %.40s and %d more", t->newcomer,
                       t->n_newcomers - 1);
    else
        (void)snprintf(text, size, "makes room for %.40s",
                       t->newcomer ? t->newcomer : "others");
}

static void give_reason(const struct telling *t, const struct plan_item *item, char *text,
                        size_t size)
{
    const struct job_run *run = &item->job->run;

    if (run->is_broken)
        (void)snprintf(text, size, "forced: %.80s", run->reason);
    else if (item->is_forced && row_find(item->row, item->now.size))
        (void)snprintf(text, size,
                       "forced: batch %d in passes of %d is no longer allowed",
                       item->now.global_batch, item->now.micro_batch);
    else if (item->is_forced)
        (void)snprintf(text, size, "forced: %d gpu%s no longer allowed", item->now.size,
                       item->now.size == 1 ? " is" : "s are");
    else if (item->is_for_admission)
        name_newcomers(t, text, size);
    else if (item->target.size > item->now.size)
        (void)snprintf(text, size, "gpus are free");
    else if (item->target.size < item->now.size && item->target.value >= item->now.value)
        (void)snprintf(text, size, "as fast with fewer gpus");
    else if (item->target.size < item->now.size)
        (void)snprintf(text, size, "others gain more from its gpus");
    else
        (void)snprintf(text, size, "a better batch for its size");
}

/* HOLD_NEXT on the devices of the target; HOLD_NOW stays where it is. */
static void hold_next(struct draft *d, const struct plan_item *item)
{
    const struct cluster *c = core_cluster(d->core);
    uint32_t id = item->job->spec.id;

    for (int32_t i = 0; i < item->target.size; i++) {
        int32_t device = item->devices[i];
        bool is_held = c->devices[device].job == id;

        draft_put_hold(d, device, id, HOLD_NEXT | (is_held ? HOLD_NOW : 0u));
    }
}

static void resize(struct draft *d, const struct telling *t, const struct plan_item *item)
{
    struct job_run run = item->job->run;
    bool can_save = item->job->spec.level == JOB_ELASTIC && !run.is_broken;
    char why[REASON_MAX_BYTES];

    give_reason(t, item, why, sizeof why);
    job_move(&run, JOB_RESIZING, JOB_RESIZING, d->now_us, "%s", why);
    run.next = next_plan(&run, &item->target);
    run.moved_us = d->now_us;
    run.retry_us = 0;
    job_set_phase(&run, can_save ? JOB_PHASE_SAVE : JOB_PHASE_EXIT);
    draft_put_run(d, &run);
    hold_next(d, item);
}

static void yield(struct draft *d, const struct plan_item *item)
{
    struct job_run run = item->job->run;

    run.order = d->globals.head_order--;
    job_move(&run, JOB_STOPPING, JOB_QUEUED, d->now_us, "%s",
             item->reason[0] ? item->reason : "the cluster shrank");
    draft_put_run(d, &run);
}

static void drop(struct draft *d, const struct plan_item *item)
{
    struct job_run run = item->job->run;

    job_move(&run, JOB_DROPPED, JOB_DROPPED, d->now_us, "%s",
             item->reason[0] ? item->reason : "does not fit");
    draft_put_run(d, &run);
    d->globals.departures++;
}

/* Why it waits is worth a change of its own, when the words are new. */
static void keep_waiting(struct draft *d, const struct plan_item *item)
{
    struct job_run run = item->job->run;

    if (item->reason[0] == '\0' || strcmp(run.reason, item->reason) == 0)
        return;
    (void)snprintf(run.reason, sizeof run.reason, "%s", item->reason);
    draft_put_run(d, &run);
}

/* The place of an item's move within the step; see the opening. */
enum rank {
    RANK_LEAVE,
    RANK_FORCED,
    RANK_SHRINK,
    RANK_START,
    RANK_MOVE,
    RANK_WAIT,
    RANK_NONE
};

static enum rank rank_of(const struct plan_item *item)
{
    switch (item->act) {
    case PLAN_YIELD:
    case PLAN_DROP:
        return RANK_LEAVE;
    case PLAN_RESIZE:
        if (item->is_forced)
            return RANK_FORCED;
        return item->target.size < item->now.size ? RANK_SHRINK : RANK_MOVE;
    case PLAN_START:
        return RANK_START;
    case PLAN_WAIT:
    case PLAN_AWAIT:
        return RANK_WAIT;
    case PLAN_KEEP:
        break;
    }
    return RANK_NONE;
}

static void put_move(struct draft *d, struct telling *t, const struct plan_item *item)
{
    switch (item->act) {
    case PLAN_START:
        start(d, t, item);
        return;
    case PLAN_RESIZE:
        resize(d, t, item);
        return;
    case PLAN_YIELD:
        yield(d, item);
        return;
    case PLAN_DROP:
        drop(d, item);
        return;
    case PLAN_WAIT:
    case PLAN_AWAIT:
        if (item->standing == POLICY_WAITING)
            keep_waiting(d, item);
        return;
    case PLAN_KEEP:
        return;
    }
}

/* All moves, in their order. Who yields comes back to the head of the queue, the last one
 * foremost; so these are taken from the end, and the older stands before the younger. */
static void put_moves(struct draft *d, const struct plan *plan)
{
    struct telling telling = telling_of(plan);
    bool any[RANK_NONE] = {false};

    for (int32_t i = 0; i < plan->n_items; i++)
        if (rank_of(&plan->items[i]) < RANK_NONE)
            any[rank_of(&plan->items[i])] = true;
    for (int32_t i = plan->n_items; i > 0 && any[RANK_LEAVE]; i--)
        if (rank_of(&plan->items[i - 1]) == RANK_LEAVE)
            put_move(d, &telling, &plan->items[i - 1]);
    for (int rank = RANK_LEAVE + 1; rank < RANK_NONE; rank++)
        for (int32_t i = 0; i < plan->n_items && any[rank]; i++)
            if ((int)rank_of(&plan->items[i]) == rank)
                put_move(d, &telling, &plan->items[i]);
}

int decide_plan(struct draft *d)
{
    struct globals *g = &d->globals;
    struct plan plan;
    int rc = plan_make(d->core, d->now_us, &plan);

    if (rc == 0) {
        put_moves(d, &plan);
        g->needs_plan = false;
        g->planned_us = d->now_us;
        g->plans++;
        g->plan_wake_us = plan.wake_us;
    }
    plan_release(&plan);
    return rc;
}
