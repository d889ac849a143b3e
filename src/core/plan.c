/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - view, policy, scaler, placement: from the state to one plan.
 *
 *   1. Items: every live job that holds or wants devices, with its row. Jobs inside a
 * move are pinned to its target: what they release counts for planning, never for
 * starting.
 *   2. Per device type, in rounds: the policy names targets; the scaler holds some moves
 *      back; their jobs are pinned and the policy is asked again (scaler.c, invariant 3).
 *   3. Placement, in the order forced moves, starts, growths and the rest: a move is made
 *      now when its devices are free now; else its share is set aside and it is awaited.
 *   4. Where placement needs more nodes than the row assumed and that matters for the
 *      job's speed, the row is rebuilt and all begins anew, at most three times.
 * The answer depends on the state and the time alone. */
#include "core/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "core/place.h"
#include "core/scaler.h"

#define PLACE_ROUNDS_MAX  3
#define SCALER_ROUNDS_MAX 64

struct planner {
    const struct core *core;
    const struct policy *policy;
    usec_t now_us;
    struct plan *plan;
    uint8_t *free; /* one byte a device: 1 is free now and not set aside */
    struct policy_scratch scratch;
    struct policy_job *jobs;
    struct policy_target *targets;
    struct plan_item **typed; /* the items of one type */
};

/* --- items
 * ------------------------------------------------------------------------------ */

/* The plan that the job has, or is moving to. */
static const struct job_plan *standing_plan(const struct job_run *run)
{
    return run->state == JOB_RESIZING ? &run->next : &run->plan;
}

static bool wants_planning(const struct job *job, usec_t now_us)
{
    const struct job_run *run = &job->run;

    if (run->state == JOB_QUEUED)
        return run->retry_us <= now_us;
    return job_state_holds_devices(run->state) && run->state != JOB_STOPPING;
}

static enum policy_standing standing_of(const struct job *job, usec_t now_us)
{
    const struct job_run *run = &job->run;

    if (run->state == JOB_QUEUED)
        return POLICY_WAITING;
    if (run->state != JOB_RUNNING || run->is_unconfirmed)
        return POLICY_PINNED;
    if (run->is_broken)
        return POLICY_RUNNING;
    if (run->retry_us > now_us || job->spec.level == JOB_RIGID)
        return POLICY_PINNED;
    return POLICY_RUNNING;
}

static int32_t largest_node(const struct cluster *c, const char *device_type)
{
    int32_t n = 0;

    for (int32_t i = 0; i < c->n_nodes; i++)
        if (strcmp(c->nodes[i].device_type, device_type) == 0)
            n = i32_max(n, c->nodes[i].devices);
    return n;
}

/* An elastic job that reports is measured before it grows: at most twice the largest size
 * measured (DESIGN 4.1). One that states its model, cannot report, or keeps its size for
 * life is not limited. */
static int32_t size_limit(const struct policy *policy, const struct job *job)
{
    const struct perf_model *model = &job->model;
    int32_t least;

    if (policy->is_rigid || job->spec.level != JOB_ELASTIC ||
        model->source == MODEL_STATED || model->source == MODEL_FAMILY)
        return 0;
    least = i32_max(job->spec.sizes.min, standing_plan(&job->run)->size);
    return i32_max(2 * model->largest_size, least);
}

static int build_row(const struct planner *p, struct plan_item *item)
{
    const struct job *job = item->job;
    const struct job_plan *plan = standing_plan(&job->run);
    struct row_rule rule = {
        .batch = p->policy->batch,
        .devices_per_node = largest_node(core_cluster(p->core), item->device_type),
        .size_limit = size_limit(p->policy, job),
        .batch_in_force = plan->global_batch ? plan->global_batch : job->spec.batch_base,
        .nodes_for_size = item->nodes_for,
        .nodes_needed = item->nodes_needed,
    };
    int rc;

    row_release(&item->row);
    row_init(&item->row);
    rc = row_build(&item->row, &job->spec, &job->model, &rule, NULL);
    return rc == E_INFEASIBLE ? 0 : rc; /* an empty row waits */
}

/* What the job has now, in the terms of a row: its option, or its bare plan when the size
 * or batch is no longer in the row. */
static struct row_option option_now(const struct plan_item *item)
{
    const struct job_plan *plan = standing_plan(&item->job->run);
    const struct row_option *found = row_find(&item->row, plan->size);
    struct row_option now = {.size = plan->size,
                             .global_batch = plan->global_batch,
                             .micro_batch = plan->micro_batch,
                             .accumulation = plan->accumulation};
    double rate;

    if (!found)
        return now;
    now.rate = found->rate;
    now.value = found->value;
    if (plan->global_batch > 0 && item->job->model.n_proc > 0 && found->rate > 0.0) {
        rate = model_rate(&item->job->model, plan->size, 1, plan->global_batch,
                          plan->micro_batch, plan->accumulation);
        if (rate < found->rate) {
            now.rate = rate;
            now.value = (int64_t)((double)found->value * (rate / found->rate));
        }
    }
    return now;
}

static int item_cmp(const void *pa, const void *pb)
{
    const struct plan_item *a = pa, *b = pb;
    bool a_waits = a->standing == POLICY_WAITING;
    bool b_waits = b->standing == POLICY_WAITING;

    if (a_waits != b_waits)
        return a_waits ? 1 : -1;
    if (a_waits && a->job->run.order != b->job->run.order)
        return a->job->run.order < b->job->run.order ? -1 : 1;
    return (a->job->spec.id > b->job->spec.id) - (a->job->spec.id < b->job->spec.id);
}

static int collect(struct planner *p)
{
    size_t n = core_n_jobs(p->core);
    struct plan *plan = p->plan;

    plan->items = mem_new(n, sizeof *plan->items);
    if (!plan->items)
        return E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct job *job = core_job_at(p->core, i);
        struct plan_item *item = &plan->items[plan->n_items];

        if (!wants_planning(job, p->now_us))
            continue;
        item->job = job;
        item->standing = standing_of(job, p->now_us);
        item->held_until_us = USEC_NEVER;
        row_init(&item->row);
        plan->n_items++;
    }
    qsort(plan->items, (size_t)plan->n_items, sizeof *plan->items, item_cmp);
    return 0;
}

/* --- device types
 * ------------------------------------------------------------------------ */

static const char *held_type(const struct cluster *c, uint32_t job)
{
    for (int32_t i = 0; i < c->n_devices; i++)
        if (c->devices[i].job == job)
            return c->nodes[c->devices[i].node].device_type;
    return NULL;
}

/* A job belongs to the type that it asked for or holds; `any` to the type with the
 * largest capacity left when those before it have their least sizes (one type per
 * generation). */
static const char *choose_type(const struct planner *p, int32_t index)
{
    const struct cluster *c = core_cluster(p->core);
    const struct plan_item *item = &p->plan->items[index];
    const char *best = item->job->spec.device_type;
    int32_t best_left = INT32_MIN;

    if (best[0] != '\0' || c->n_nodes == 0)
        return best;
    best = held_type(c, item->job->spec.id);
    if (best)
        return best;
    for (int32_t i = 0; i < c->n_nodes; i++) {
        const char *type = c->nodes[i].device_type;
        int32_t left = cluster_capacity(c, type);

        for (int32_t j = 0; j < index; j++)
            if (strcmp(p->plan->items[j].device_type, type) == 0)
                left -= p->plan->items[j].job->spec.sizes.min;
        if (left > best_left) {
            best_left = left;
            best = type;
        }
    }
    return best;
}

/* The items of this item's type, from it on, are gathered once: when it is the first. */
static int32_t gather_type(const struct planner *p, int32_t first)
{
    const char *type = p->plan->items[first].device_type;
    int32_t n = 0;

    for (int32_t i = 0; i < first; i++)
        if (strcmp(p->plan->items[i].device_type, type) == 0)
            return 0;
    for (int32_t i = first; i < p->plan->n_items; i++)
        if (strcmp(p->plan->items[i].device_type, type) == 0)
            p->typed[n++] = &p->plan->items[i];
    return n;
}

/* --- policy and scaler
 * -------------------------------------------------------------------- */

static bool same_plan(const struct row_option *a, const struct row_option *b)
{
    return a->size == b->size && a->global_batch == b->global_batch &&
           a->micro_batch == b->micro_batch && a->accumulation == b->accumulation;
}

/* Whether the job's limits still allow the plan that it has: an update may have narrowed
 * them. What the policy or the model would rather have is another question. */
static bool is_allowed(const struct plan_item *item)
{
    const struct job_spec *spec = &item->job->spec;
    const struct row_option *now = &item->now;

    if (!row_find(&item->row, now->size))
        return false;
    if (now->global_batch == 0 || spec->batch_max == 0)
        return true;
    return now->global_batch >= spec->batch_min && now->global_batch <= spec->batch_max &&
           (spec->gpu_batch == 0 || now->micro_batch <= spec->gpu_batch) &&
           (spec->accumulate != JOB_ACCUMULATE_NEVER || now->accumulation <= 1);
}

static void set_running_target(struct plan_item *item, const struct policy_target *target)
{
    const struct row_option *option = row_find(&item->row, target->size);

    item->target = option ? *option : item->now;
    if (item->standing == POLICY_PINNED || item->is_held_back) {
        item->target = item->now;
        item->act = PLAN_KEEP;
        return;
    }
    item->is_forced = item->job->run.is_broken || !is_allowed(item);
    item->act = item->job->run.is_broken || !same_plan(&item->target, &item->now)
                    ? PLAN_RESIZE
                    : PLAN_KEEP;
}

static void set_target(struct plan_item *item, const struct policy_target *target)
{
    item->is_for_admission = false;
    item->target = (struct row_option){0};
    if (!item->is_held_back)
        (void)snprintf(item->reason, sizeof item->reason, "%s", target->reason);
    switch (target->verdict) {
    case POLICY_SIZE:
        if (item->standing != POLICY_WAITING) {
            set_running_target(item, target);
            return;
        }
        ASSERT(row_find(&item->row, target->size) != NULL);
        item->target = *row_find(&item->row, target->size);
        item->act = PLAN_START;
        return;
    case POLICY_WAIT:
    case POLICY_BLOCKED:
        item->act = PLAN_WAIT;
        return;
    case POLICY_DROP:
        item->act = PLAN_DROP;
        return;
    case POLICY_YIELD:
        item->act = PLAN_YIELD;
        return;
    }
}

static int ask_policy(struct planner *p, int32_t n, struct alloc_result *ret)
{
    const struct cluster *c = core_cluster(p->core);
    struct policy_view view = {
        .config = core_config(p->core),
        .now_us = p->now_us,
        .devices = cluster_capacity(c, p->typed[0]->device_type),
        .jobs = p->jobs,
        .n_jobs = n,
    };
    int rc;

    for (int32_t i = 0; i < n; i++) {
        const struct plan_item *item = p->typed[i];
        bool is_pinned = item->is_held_back && item->standing == POLICY_RUNNING;

        p->jobs[i] = (struct policy_job){
            .spec = &item->job->spec,
            .run = &item->job->run,
            .row = &item->row,
            .standing = is_pinned ? POLICY_PINNED : item->standing,
            .held = item->now.size,
            .may_be_dropped = !item->job->run.has_started,
        };
    }
    rc = p->policy->plan(p->policy, &view, &p->scratch, p->targets, ret);
    for (int32_t i = 0; i < n && rc == 0; i++)
        set_target(p->typed[i], &p->targets[i]);
    return rc;
}

/* Devices of this type that nobody holds, and those that are on their way back. */
static void count_devices(const struct planner *p, const char *type,
                          struct scaler_view *v)
{
    const struct cluster *c = core_cluster(p->core);

    v->free = 0;
    v->releasing = 0;
    for (int32_t i = 0; i < c->n_devices; i++) {
        const struct device *d = &c->devices[i];
        const struct node *node = &c->nodes[d->node];
        const struct job *job;

        if (node->state != NODE_UP || strcmp(node->device_type, type) != 0)
            continue;
        if (d->job == 0) {
            v->free++;
            continue;
        }
        job = core_find_job(p->core, d->job);
        if (job && (job->run.state == JOB_STOPPING ||
                    (job->run.state == JOB_RESIZING && !(d->flags & HOLD_NEXT))))
            v->releasing++;
    }
}

/* Asks the policy until the scaler holds nothing more back. */
static int settle_type(struct planner *p, const struct scaler_view *view,
                       struct alloc_result *ret)
{
    for (int round = 0;; round++) {
        int rc = ask_policy(p, view->n_items, ret);

        if (rc < 0)
            return rc;
        if (scaler_review(view) == 0 || round >= SCALER_ROUNDS_MAX)
            return 0;
    }
}

static int plan_type(struct planner *p, int32_t n)
{
    struct scaler_view view = {
        .config = core_config(p->core),
        .globals = core_globals(p->core),
        .now_us = p->now_us,
        .items = p->typed,
        .n_items = n,
    };
    struct alloc_result result = {0};
    double gain;
    bool is_better;
    int rc;

    count_devices(p, p->typed[0]->device_type, &view);
    rc = settle_type(p, &view, &result);
    gain = scaler_gain(&view);
    if (rc == 0 && scaler_try_without_shrinks(&view) > 0) {
        rc = settle_type(p, &view, &result);
        is_better = scaler_gain(&view) >= gain;
        scaler_end_trial(&view, is_better);
        if (rc == 0 && !is_better)
            rc = settle_type(p, &view, &result);
    }
    if (rc < 0)
        return rc;
    p->plan->result.value += result.value;
    p->plan->result.objective += result.objective;
    p->plan->result.bound += result.bound;
    p->plan->result.used += result.used;
    p->plan->result.unchanged += result.unchanged;
    p->plan->result.is_certified = p->plan->result.is_certified && result.is_certified;
    p->plan->result.proof = p->plan->n_types == 0 || result.proof < p->plan->result.proof
                                ? result.proof
                                : p->plan->result.proof;
    p->plan->n_types++;
    return 0;
}

/* --- placement
 * ---------------------------------------------------------------------------- */

static int32_t count_free(const struct planner *p, const char *type)
{
    const struct cluster *c = core_cluster(p->core);
    int32_t n = 0;

    for (int32_t i = 0; i < c->n_devices; i++)
        n += p->free[i] && strcmp(c->nodes[c->devices[i].node].device_type, type) == 0;
    return n;
}

/* Sets devices aside that are free, for a move that still waits for others. */
static void set_aside(struct planner *p, const char *type, int32_t count)
{
    const struct cluster *c = core_cluster(p->core);

    for (int32_t i = 0; i < c->n_devices && count > 0; i++) {
        if (!p->free[i] || strcmp(c->nodes[c->devices[i].node].device_type, type) != 0)
            continue;
        p->free[i] = 0;
        count--;
    }
}

/* Devices that the move needs beyond those that the job holds. */
static int32_t extra_devices(const struct planner *p, const struct plan_item *item)
{
    int32_t held = cluster_held(core_cluster(p->core), item->job->spec.id, HOLD_NOW);

    return i32_max(0, item->target.size - held);
}

static int place_item(struct planner *p, struct plan_item *item)
{
    const struct cluster *c = core_cluster(p->core);
    int32_t extra = extra_devices(p, item);
    int32_t n_free = count_free(p, item->device_type);
    int rc;

    if (extra > n_free) {
        set_aside(p, item->device_type, n_free);
        item->act = PLAN_AWAIT;
        (void)snprintf(item->reason, sizeof item->reason,
                       "waits for %d gpu%s that others are giving back", extra - n_free,
                       extra - n_free == 1 ? "" : "s");
        return 0;
    }
    mem_free(item->devices);
    item->devices = mem_new((size_t)item->target.size, sizeof *item->devices);
    if (!item->devices)
        return E_NOMEM;
    rc = place_choose(c, item->job->spec.id, item->device_type, item->target.size,
                      p->free, item->devices);
    ASSERT(rc != E_INFEASIBLE);
    for (int32_t i = 0; rc == 0 && i < item->target.size; i++)
        p->free[item->devices[i]] = 0;
    return rc;
}

/* The order in which moves may take what is free. */
static int rank_of(const struct plan_item *item)
{
    if (item->act == PLAN_RESIZE && item->is_forced)
        return 0;
    if (item->act == PLAN_START)
        return 1;
    if (item->act == PLAN_RESIZE)
        return 2;
    return 3;
}

static int place_all(struct planner *p)
{
    const struct cluster *c = core_cluster(p->core);
    int rc = 0;

    for (int32_t i = 0; i < c->n_devices; i++)
        p->free[i] =
            c->devices[i].job == 0 && c->nodes[c->devices[i].node].state == NODE_UP;
    for (int rank = 0; rank < 3; rank++)
        for (int32_t i = 0; i < p->plan->n_items && rc == 0; i++)
            if (rank_of(&p->plan->items[i]) == rank)
                rc = place_item(p, &p->plan->items[i]);
    return rc;
}

/* Notes where more nodes are needed than the row assumed; true when a row changes by it.
 */
static bool note_nodes(struct planner *p)
{
    const struct cluster *c = core_cluster(p->core);
    bool changed = false;

    for (int32_t i = 0; i < p->plan->n_items; i++) {
        struct plan_item *item = &p->plan->items[i];
        int64_t factor = item->job->model.inter_node_ppm;
        int32_t nodes, assumed;

        if (!item->devices || (item->act != PLAN_START && item->act != PLAN_RESIZE) ||
            factor == 0 || factor == PPM || item->nodes_for == item->target.size)
            continue;
        nodes = place_nodes(c, item->devices, item->target.size);
        assumed = (int32_t)i64_div_up(item->target.size,
                                      i32_max(1, largest_node(c, item->device_type)));
        if (nodes <= assumed)
            continue;
        item->nodes_for = item->target.size;
        item->nodes_needed = nodes;
        changed = true;
    }
    return changed;
}

/* --- all together
 * -------------------------------------------------------------------------- */

static int one_round(struct planner *p)
{
    int rc = 0;

    p->plan->n_types = 0;
    p->plan->result = (struct alloc_result){.is_certified = true};
    for (int32_t i = 0; i < p->plan->n_items && rc == 0; i++) {
        struct plan_item *item = &p->plan->items[i];

        item->is_held_back = false;
        item->held_until_us = USEC_NEVER;
        rc = build_row(p, item);
        item->now = option_now(item);
    }
    for (int32_t i = 0; i < p->plan->n_items && rc == 0; i++) {
        int32_t n = gather_type(p, i);

        if (n > 0)
            rc = plan_type(p, n);
    }
    return rc < 0 ? rc : place_all(p);
}

static void set_wake(struct planner *p)
{
    for (int32_t i = 0; i < p->plan->n_items; i++)
        if (p->plan->items[i].is_held_back)
            p->plan->wake_us = i64_min(p->plan->wake_us, p->plan->items[i].held_until_us);
}

static int prepare(struct planner *p)
{
    size_t n = (size_t)p->plan->n_items;

    p->free = mem_new((size_t)core_cluster(p->core)->n_devices, 1);
    p->jobs = mem_new(n, sizeof *p->jobs);
    p->targets = mem_new(n, sizeof *p->targets);
    p->typed = mem_new(n, sizeof(struct plan_item *));
    return p->free && p->jobs && p->targets && p->typed ? 0 : E_NOMEM;
}

int plan_make(const struct core *core, usec_t now_us, struct plan *ret)
{
    struct planner p = {.core = core,
                        .policy = policy_find(core_config(core)->policy),
                        .now_us = now_us,
                        .plan = ret};
    int rc;

    ASSERT(p.policy != NULL);
    *ret = (struct plan){.wake_us = USEC_NEVER};
    policy_scratch_init(&p.scratch);
    rc = collect(&p);
    if (rc == 0)
        rc = prepare(&p);
    for (int32_t i = 0; i < ret->n_items && rc == 0; i++)
        ret->items[i].device_type = choose_type(&p, i);
    for (int round = 0; rc == 0; round++) {
        rc = one_round(&p);
        if (rc < 0 || round >= PLACE_ROUNDS_MAX || !note_nodes(&p))
            break;
    }
    set_wake(&p);
    policy_scratch_release(&p.scratch);
    mem_free(p.free);
    mem_free(p.jobs);
    mem_free(p.targets);
    mem_free(p.typed);
    return rc;
}

void plan_release(struct plan *plan)
{
    for (int32_t i = 0; i < plan->n_items; i++) {
        row_release(&plan->items[i].row);
        mem_free(plan->items[i].devices);
    }
    mem_free(plan->items);
    *plan = (struct plan){0};
}

const struct plan_item *plan_find(const struct plan *plan, uint32_t job)
{
    for (int32_t i = 0; i < plan->n_items; i++)
        if (plan->items[i].job->spec.id == job)
            return &plan->items[i];
    return NULL;
}
