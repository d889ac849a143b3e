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
#include "core/perf/steps.h"
#include "core/place.h"
#include "core/scaler.h"
#include "core/withheld.h"

#define PLACE_ROUNDS_MAX  3
#define SCALER_ROUNDS_MAX 64

struct plan_scratch {
    bool is_lent;
    struct plan_item *items;
    const struct job **queue;
    struct policy_job *jobs;
    struct policy_target *targets;
    struct plan_item **typed; /* all items, those of one type side by side */
    struct plan_item **moves; /* those that start or resize */
    size_t cap;               /* jobs for which each of these has room */
    struct policy_scratch policy;
};

struct planner {
    const struct core *core;
    const struct cluster *cluster;
    const struct policy *policy;
    usec_t now_us;
    struct plan *plan;
    struct plan_scratch *s;
    struct place_pool pool; /* what is free now and not set aside */
    int32_t n_moves;
    int32_t *type_ends; /* where in typed the items of type i - 1 end */
    int32_t *claimed;   /* by type: least sizes of the items so far */
    int32_t *releasing; /* by type: devices on their way back */
};

/* Items. */

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

static int32_t largest_node(const struct planner *p, const struct plan_item *item)
{
    return item->type < 0 ? 0 : p->cluster->types[item->type].largest_node;
}

/* A job that reports is measured before it grows: at most twice the largest size measured
 * (DESIGN 4.1). Elastic jobs report; of a restartable one that is known when its first
 * measurement is there. One that states its model, has not reported, keeps its size for
 * life, or is not to be measured is not limited: waiting would teach nothing. */
static int32_t size_limit(const struct policy *policy, const struct job *job)
{
    const struct perf_model *model = &job->model;
    bool reports = job->spec.level == JOB_ELASTIC ||
                   (job->spec.level == JOB_RESTARTABLE && model->n_steps > 0);
    int32_t least;

    if (policy->is_rigid || !reports || model->source == MODEL_STATED ||
        model->source == MODEL_FAMILY || job->spec.profile == JOB_PROFILE_OFF)
        return 0;
    least = i32_max(job->spec.sizes.min, standing_plan(&job->run)->size);
    return i32_max(2 * model->largest_size, least);
}

/* Nodes that this many devices are taken to lie on. */
static int32_t nodes_assumed(const struct planner *p, const struct plan_item *item,
                             int32_t size)
{
    return (int32_t)i64_div_up(size, i32_max(1, largest_node(p, item)));
}

/* A restartable job began with all devices that it could get, before anybody knew that it
 * reports. What its model says about fewer is to be tried first, unless its owner wants
 * no size that is there for the measurement alone. */
static int32_t size_on_trial(const struct policy *policy, const struct job *job)
{
    if (policy->is_rigid || job->spec.level != JOB_RESTARTABLE ||
        job->spec.profile != JOB_PROFILE_PROBE || job->model.source != MODEL_MEASURED)
        return 0;
    return steps_next_trial(&job->model, &job->spec.sizes);
}

static int find_row(const struct planner *p, struct plan_item *item)
{
    const struct job *job = item->job;
    const struct job_plan *plan = standing_plan(&job->run);
    struct row_rule rule = {
        .batch = p->policy->batch,
        .devices_per_node = largest_node(p, item),
        .size_limit = size_on_trial(p->policy, job),
        .batch_in_force = plan->global_batch ? plan->global_batch : job->spec.batch_base,
        .nodes_for_size = item->nodes_for,
        .nodes_needed = item->nodes_needed,
    };
    int rc = 0;

    item->is_on_probation = false;
    if (rule.size_limit > 0) {
        rc = row_recall(job->memo, &job->spec, &job->model, &rule, &item->row);
        item->is_on_probation = rc == 0 && row_min_size(item->row) <= rule.size_limit;
    }
    if (rc < 0 || item->is_on_probation)
        return rc;
    rule.size_limit = size_limit(p->policy, job);
    return row_recall(job->memo, &job->spec, &job->model, &rule, &item->row);
}

static bool same_plan(const struct row_option *a, const struct row_option *b)
{
    return a->size == b->size && a->global_batch == b->global_batch &&
           a->micro_batch == b->micro_batch && a->accumulation == b->accumulation;
}

/* What the job has now, in the terms of a row: its option, or its bare plan when the size
 * or batch is no longer in the row. */
static struct row_option option_now(const struct planner *p, const struct plan_item *item)
{
    const struct job_plan *plan = standing_plan(&item->job->run);
    const struct row_option *found = row_find(item->row, plan->size);
    struct row_option now = {.size = plan->size,
                             .global_batch = plan->global_batch,
                             .micro_batch = plan->micro_batch,
                             .accumulation = plan->accumulation};
    double rate;

    if (!found && item->is_on_probation && plan->global_batch > 0)
        now.rate =
            model_rate(&item->job->model, plan->size, nodes_assumed(p, item, plan->size),
                       plan->global_batch, plan->micro_batch, plan->accumulation);
    if (!found)
        return now;
    if (same_plan(&now, found))
        return *found;
    now.rate = found->rate;
    now.value = found->value;
    if (plan->global_batch > 0 && item->job->model.n_proc > 0 && found->rate > 0.0) {
        rate =
            model_rate(&item->job->model, plan->size, nodes_assumed(p, item, plan->size),
                       plan->global_batch, plan->micro_batch, plan->accumulation);
        if (rate < found->rate) {
            now.rate = rate;
            now.value = (int64_t)((double)found->value * (rate / found->rate));
        }
    }
    return now;
}

static int queue_cmp(const void *pa, const void *pb)
{
    const struct job *a = *(const struct job *const *)pa;
    const struct job *b = *(const struct job *const *)pb;

    if (a->run.order != b->run.order)
        return a->run.order < b->run.order ? -1 : 1;
    return (a->spec.id > b->spec.id) - (a->spec.id < b->spec.id);
}

static void add_item(struct planner *p, const struct job *job)
{
    p->plan->items[p->plan->n_items++] = (struct plan_item){
        .job = job,
        .standing = standing_of(job, p->now_us),
        .held_until_us = USEC_NEVER,
        .type = -1,
    };
}

/* Counts the devices that the job is giving back; a marked one will not be free. */
static void count_releasing(const struct planner *p, const struct job *job)
{
    const struct cluster *c = p->cluster;
    uint32_t id = job->spec.id;
    int32_t held = cluster_held(c, id, HOLD_NOW | HOLD_NEXT);
    int32_t first, end;

    cluster_span(c, id, &first, &end);
    if (held == 0)
        return;
    if (job->run.state == JOB_RESIZING)
        held -= cluster_held(c, id, HOLD_NEXT);
    for (int32_t i = 0; i < c->marks.n; i++) {
        const struct device *device = &c->devices[c->marks.items[i].device];

        held -= device->job == id &&
                (job->run.state != JOB_RESIZING || (device->flags & HOLD_NEXT) == 0);
    }
    p->releasing[c->node_types[c->devices[first].node]] += held;
}

/* Items: pinned and running jobs by id, as they stand in the core; then the queue. */
static void collect(struct planner *p)
{
    const struct job **queue = p->s->queue;
    size_t n_queue = 0;

    for (size_t i = 0; i < core_n_jobs(p->core); i++) {
        const struct job *job = core_job_at(p->core, i);

        if (job->run.state == JOB_STOPPING || job->run.state == JOB_RESIZING)
            count_releasing(p, job);
        if (!wants_planning(job, p->now_us))
            continue;
        if (job->run.state == JOB_QUEUED)
            queue[n_queue++] = job;
        else
            add_item(p, job);
    }
    if (n_queue > 1)
        qsort(queue, n_queue, sizeof(struct job *), queue_cmp);
    for (size_t i = 0; i < n_queue; i++)
        add_item(p, queue[i]);
}

/* Device types. */

/* For a job that may have any type and holds none: one that is up in sufficient number,
 * else one that would be if no node were lost; of these the one with most left when all
 * before it have their least sizes; the first of equals. */
static int32_t emptiest_type(const struct planner *p, int32_t least)
{
    const struct cluster *c = p->cluster;
    int32_t best = -1;
    int best_fit = 0;

    for (int32_t i = 0; i < c->n_types; i++) {
        const struct cluster_type *type = &c->types[i];
        int fit = type->up >= least ? 2 : type->configured >= least;

        if (best >= 0 && (fit < best_fit ||
                          (fit == best_fit && type->up - p->claimed[i] <=
                                                  c->types[best].up - p->claimed[best])))
            continue;
        best = i;
        best_fit = fit;
    }
    return best;
}

/* A job belongs to the type that it asked for or holds (one type per generation). */
static void choose_type(const struct planner *p, struct plan_item *item)
{
    const struct cluster *c = p->cluster;
    const struct job_spec *spec = &item->job->spec;
    const struct cluster_type *type;
    int32_t first, end;

    cluster_span(c, spec->id, &first, &end);
    if (first < end) {
        item->type = c->node_types[c->devices[first].node];
    } else if (spec->device_type[0] != '\0') {
        type = cluster_find_type(c, spec->device_type);
        item->type = type ? (int32_t)(type - c->types) : -1;
    } else {
        item->type = emptiest_type(p, spec->sizes.min);
    }
    if (item->type >= 0)
        p->claimed[item->type] += spec->sizes.min;
}

/* Puts the items of each type side by side, in their order. */
static void sort_by_type(struct planner *p)
{
    int32_t *ends = p->type_ends;
    int32_t n_types = p->cluster->n_types;

    for (int32_t i = 0; i < p->plan->n_items; i++)
        if (p->plan->items[i].type < n_types - 1)
            ends[p->plan->items[i].type + 2]++;
    for (int32_t i = 1; i <= n_types; i++)
        ends[i] += ends[i - 1];
    for (int32_t i = 0; i < p->plan->n_items; i++)
        p->s->typed[ends[p->plan->items[i].type + 1]++] = &p->plan->items[i];
}

/* Policy and scaler. */

/* Whether the job's limits still allow the plan that it has: an update may have narrowed
 * them. What the policy or the model would rather have is another question. */
static bool is_allowed(const struct plan_item *item)
{
    const struct job_spec *spec = &item->job->spec;
    const struct row_option *now = &item->now;

    if (!row_find(item->row, now->size))
        return false;
    if (now->global_batch == 0 || spec->batch_max == 0)
        return true;
    return now->global_batch >= spec->batch_min && now->global_batch <= spec->batch_max &&
           (spec->gpu_batch == 0 || now->micro_batch <= spec->gpu_batch) &&
           (spec->accumulate != JOB_ACCUMULATE_NEVER || now->accumulation <= 1);
}

static void set_running_target(struct plan_item *item, const struct policy_target *target)
{
    const struct row_option *option;

    item->target = item->now;
    item->act = PLAN_KEEP;
    if (item->standing == POLICY_PINNED || item->is_held_back)
        return;
    option = row_find(item->row, target->size);
    if (option)
        item->target = *option;
    item->is_forced = item->job->run.is_broken || !is_allowed(item);
    item->act = item->job->run.is_broken || !same_plan(&item->target, &item->now)
                    ? PLAN_RESIZE
                    : PLAN_KEEP;
    if (item->is_on_probation && item->act == PLAN_RESIZE && !item->is_forced)
        (void)snprintf(item->reason, sizeof item->reason,
                       "is measured on %d gpu%s, to know what more are worth",
                       item->target.size, item->target.size == 1 ? "" : "s");
}

static void set_target(struct plan_item *item, const struct policy_target *target)
{
    item->is_for_admission = false;
    item->target = (struct row_option){0};
    if (!item->is_held_back)
        memcpy(item->reason, target->reason, strlen(target->reason) + 1);
    switch (target->verdict) {
    case POLICY_SIZE:
        if (item->standing != POLICY_WAITING) {
            set_running_target(item, target);
            return;
        }
        ASSERT(row_find(item->row, target->size) != NULL);
        item->target = *row_find(item->row, target->size);
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

static bool is_move(const struct plan_item *item)
{
    return item->act == PLAN_START || item->act == PLAN_RESIZE;
}

/* Sets the targets of the items, and which of them are moves. */
static int ask_policy(struct planner *p, struct scaler_view *v, struct alloc_result *ret)
{
    int32_t type = v->items[0]->type;
    struct policy_view view = {
        .config = v->config,
        .now_us = p->now_us,
        .devices = type < 0 ? 0 : p->cluster->types[type].up,
        .jobs = p->s->jobs,
        .n_jobs = v->n_items,
    };
    int rc;

    for (int32_t i = 0; i < v->n_items; i++) {
        const struct plan_item *item = v->items[i];
        bool is_pinned = item->is_held_back && item->standing == POLICY_RUNNING;

        p->s->jobs[i] = (struct policy_job){
            .spec = &item->job->spec,
            .run = &item->job->run,
            .row = item->row,
            .standing = is_pinned ? POLICY_PINNED : item->standing,
            .held = item->now.size,
            .may_be_dropped = !item->job->run.has_started,
        };
    }
    rc = p->policy->plan(p->policy, &view, &p->s->policy, p->s->targets, ret);
    v->n_moves = 0;
    for (int32_t i = 0; i < v->n_items && rc == 0; i++) {
        set_target(v->items[i], &p->s->targets[i]);
        if (is_move(v->items[i]))
            v->moves[v->n_moves++] = v->items[i];
    }
    return rc;
}

/* Asks the policy until the scaler holds nothing more back. */
static int settle_type(struct planner *p, struct scaler_view *view,
                       struct alloc_result *ret)
{
    for (int round = 0;; round++) {
        int rc = ask_policy(p, view, ret);

        if (rc < 0)
            return rc;
        if (scaler_review(view) == 0 || round >= SCALER_ROUNDS_MAX)
            return 0;
    }
}

/* Plans for n items, all of one type. */
static int plan_type(struct planner *p, struct plan_item **items, int32_t n)
{
    int32_t type = items[0]->type;
    struct scaler_view view = {
        .config = core_config(p->core),
        .globals = core_globals(p->core),
        .now_us = p->now_us,
        .free = type < 0 ? 0 : p->cluster->types[type].free,
        .releasing = type < 0 ? 0 : p->releasing[type],
        .items = items,
        .n_items = n,
        .moves = p->s->moves,
    };
    struct alloc_result result = {0};
    double gain;
    bool is_better;
    int rc;

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

/* Placement. */

/* Devices that the move needs beyond those that the job holds and may keep. */
static int32_t extra_devices(const struct planner *p, const struct plan_item *item)
{
    uint32_t id = item->job->spec.id;
    int32_t held = cluster_held(p->cluster, id, HOLD_NOW);

    held -= cluster_held_marked(p->cluster, id);
    return i32_max(0, item->target.size - held);
}

/* A job with a stranger on its devices, which no free ones can replace, goes on as it is:
 * nobody gives back what it would wait for. */
static bool is_stranded(const struct planner *p, const struct plan_item *item)
{
    return item->act == PLAN_RESIZE && item->target.size <= item->now.size &&
           cluster_held_marked(p->cluster, item->job->spec.id) > 0;
}

static int place_item(struct planner *p, struct plan_item *item)
{
    int32_t extra = extra_devices(p, item);
    int32_t n_free = p->pool.of_type[item->type];
    int rc;

    if (extra > n_free && is_stranded(p, item)) {
        item->act = PLAN_KEEP;
        return 0;
    }
    if (extra > n_free) {
        p->pool.of_type[item->type] = 0; /* set aside for it */
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
    rc = place_choose(&p->pool, item->job->spec.id, item->type, item->target.size,
                      item->devices);
    ASSERT(rc == 0);
    place_pool_take(&p->pool, item->devices, item->target.size);
    return 0;
}

/* The order in which moves may take what is free. */
static int rank_of(const struct plan_item *item)
{
    if (item->act == PLAN_START)
        return 1;
    return item->is_forced ? 0 : 2;
}

static int place_all(struct planner *p)
{
    int rc;

    p->n_moves = 0;
    for (int32_t i = 0; i < p->plan->n_items; i++)
        if (is_move(&p->plan->items[i]))
            p->s->moves[p->n_moves++] = &p->plan->items[i];
    if (p->n_moves == 0)
        return 0;
    place_pool_release(&p->pool);
    rc = place_pool_init(&p->pool, p->cluster);
    for (int rank = 0; rank < 3; rank++)
        for (int32_t i = 0; i < p->n_moves && rc == 0; i++)
            if (is_move(p->s->moves[i]) && rank_of(p->s->moves[i]) == rank)
                rc = place_item(p, p->s->moves[i]);
    return rc;
}

/* Notes where more nodes are needed than the row assumed; true when a row changes by it.
 */
static bool note_nodes(struct planner *p)
{
    bool changed = false;

    for (int32_t i = 0; i < p->n_moves; i++) {
        struct plan_item *item = p->s->moves[i];
        int64_t factor = item->job->model.inter_node_ppm;
        int32_t nodes, assumed;

        if (!item->devices || !is_move(item) || factor == 0 || factor == PPM ||
            item->nodes_for == item->target.size)
            continue;
        nodes = place_nodes(p->cluster, item->devices, item->target.size);
        assumed = nodes_assumed(p, item, item->target.size);
        if (nodes <= assumed)
            continue;
        item->nodes_for = item->target.size;
        item->nodes_needed = nodes;
        changed = true;
    }
    return changed;
}

/* All together. */

static int one_round(struct planner *p)
{
    int rc = 0;

    p->plan->n_types = 0;
    p->plan->result = (struct alloc_result){.is_certified = true};
    for (int32_t i = 0; i < p->plan->n_items && rc == 0; i++) {
        struct plan_item *item = &p->plan->items[i];

        item->is_held_back = false;
        item->is_spared = false;
        item->held_until_us = USEC_NEVER;
        rc = find_row(p, item);
        if (rc == 0)
            item->now = option_now(p, item);
    }
    for (int32_t i = 0, first = 0; i <= p->cluster->n_types && rc == 0; i++) {
        int32_t end = p->type_ends[i];

        if (end > first)
            rc = plan_type(p, p->s->typed + first, end - first);
        first = end;
    }
    return rc < 0 ? rc : place_all(p);
}

/* Whether a job that needs so many would start, or could start when others end, if it
 * were not for the devices that are withheld; `left` are free. */
static bool lacks_withheld(const struct cluster_type *type, int32_t least, int32_t left)
{
    return (least > left && least <= left + type->withheld) ||
           (least > type->up && least <= type->up + type->withheld);
}

/* Those that wait for devices of this type that are withheld. */
static void tell_withheld_type(struct planner *p, int32_t index)
{
    const struct cluster_type *type = &p->cluster->types[index];
    bool is_queue = core_config(p->core)->admission == CONFIG_ADMIT_QUEUE;
    int32_t left = p->n_moves > 0 ? p->pool.of_type[index] : type->free;

    for (int32_t i = 0; i < p->plan->n_items; i++) {
        struct plan_item *item = &p->plan->items[i];
        int32_t least;

        if (item->type != index || item->act != PLAN_WAIT)
            continue;
        least = row_min_size(item->row);
        if (lacks_withheld(type, least, left))
            withheld_text(p->cluster, index, item->reason);
        if (is_queue && least <= type->up)
            return; /* the others stand behind it */
    }
}

static void tell_withheld(struct planner *p)
{
    for (int32_t i = 0; i < p->cluster->n_types; i++)
        if (p->cluster->types[i].withheld > 0)
            tell_withheld_type(p, i);
}

static void set_wake(struct planner *p)
{
    for (int32_t i = 0; i < p->plan->n_items; i++)
        if (p->plan->items[i].is_held_back)
            p->plan->wake_us = i64_min(p->plan->wake_us, p->plan->items[i].held_until_us);
}

static int prepare_types(struct planner *p)
{
    size_t n_types = (size_t)p->cluster->n_types;

    p->type_ends = mem_new(n_types + 1, sizeof *p->type_ends);
    p->claimed = mem_new(n_types, sizeof *p->claimed);
    p->releasing = mem_new(n_types, sizeof *p->releasing);
    return p->type_ends && p->claimed && p->releasing ? 0 : E_NOMEM;
}

static void scratch_clear(struct plan_scratch *s)
{
    mem_free(s->items);
    mem_free(s->queue);
    mem_free(s->jobs);
    mem_free(s->targets);
    mem_free(s->typed);
    mem_free(s->moves);
    policy_scratch_release(&s->policy);
    *s = (struct plan_scratch){0};
}

static int scratch_reserve(struct plan_scratch *s, size_t n)
{
    if (n <= s->cap)
        return 0;
    n += n / 2;
    scratch_clear(s);
    s->items = mem_new(n, sizeof *s->items);
    s->queue = mem_new(n, sizeof(struct job *));
    s->jobs = mem_new(n, sizeof *s->jobs);
    s->targets = mem_new(n, sizeof *s->targets);
    s->typed = mem_new(n, sizeof(struct plan_item *));
    s->moves = mem_new(n, sizeof(struct plan_item *));
    if (!s->items || !s->queue || !s->jobs || !s->targets || !s->typed || !s->moves) {
        scratch_clear(s);
        return E_NOMEM;
    }
    s->cap = n;
    return 0;
}

struct plan_scratch *plan_scratch_new(void)
{
    return mem_new(1, sizeof(struct plan_scratch));
}

void plan_scratch_free(struct plan_scratch *s)
{
    if (!s)
        return;
    ASSERT(!s->is_lent);
    scratch_clear(s);
    mem_free(s);
}

static void planner_release(struct planner *p)
{
    place_pool_release(&p->pool);
    mem_free(p->type_ends);
    mem_free(p->claimed);
    mem_free(p->releasing);
}

int plan_make(const struct core *core, usec_t now_us, struct plan *ret)
{
    struct planner p = {.core = core,
                        .cluster = core_cluster(core),
                        .policy = policy_find(core_config(core)->policy),
                        .now_us = now_us,
                        .plan = ret,
                        .s = core_plan_scratch(core)};
    int rc;

    ASSERT(p.policy != NULL);
    ASSERT(!p.s->is_lent);
    rc = scratch_reserve(p.s, core_n_jobs(core));
    p.s->is_lent = true;
    *ret = (struct plan){.scratch = p.s, .items = p.s->items, .wake_us = USEC_NEVER};
    if (rc == 0)
        rc = prepare_types(&p);
    if (rc == 0) {
        collect(&p);
        for (int32_t i = 0; i < ret->n_items; i++)
            choose_type(&p, &ret->items[i]);
        sort_by_type(&p);
    }
    for (int round = 0; rc == 0; round++) {
        rc = one_round(&p);
        if (rc < 0 || round >= PLACE_ROUNDS_MAX || !note_nodes(&p))
            break;
    }
    set_wake(&p);
    if (rc == 0)
        tell_withheld(&p);
    planner_release(&p);
    return rc;
}

void plan_release(struct plan *plan)
{
    for (int32_t i = 0; i < plan->n_items; i++)
        mem_free(plan->items[i].devices);
    plan->scratch->is_lent = false;
    *plan = (struct plan){0};
}

const struct plan_item *plan_find(const struct plan *plan, uint32_t job)
{
    for (int32_t i = 0; i < plan->n_items; i++)
        if (plan->items[i].job->spec.id == job)
            return &plan->items[i];
    return NULL;
}
