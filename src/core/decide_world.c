/* SPDX-License-Identifier: Apache-2.0 */
/* decide_world.c - what happened out there: starts, saves, exits, lost nodes, reports,
 * time.
 *
 * Invariants:
 *   1. A report of an incarnation that is not the job's newest changes nothing; so does a
 *      report that was taken before. Everything may arrive late, twice or never.
 *   2. HOLD_NOW of a device is cleared only here: by an exit confirmed for its node, by
 * the loss of the node, or when after a restart of the daemon nobody answered in time.
 *   3. A job leaves JOB_STOPPING, and a resize its EXIT phase, only when it holds no
 * device with HOLD_NOW (R11).
 *   4. Each handler updates the holds of one job once: draft_update_holds reads the old
 * ones. The two phases of a resize: SAVE may be called off (a failed save keeps the
 * devices, R16), EXIT may not. */
#include "core/decide.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "core/perf/learn.h"

#define CONFIRM_SPAN_US (60 * USEC_PER_SEC) /* DESIGN 3 */
#define RETRY_DELAY_US  (10 * USEC_PER_SEC) /* doubled with each retry, 5 times */
/* An incarnation that is lost within this span of its start is not started again at once.
 */
#define YOUNG_SPAN_US (60 * USEC_PER_SEC)
/* No other resize after one that was called off; doubled with each save that fails in a
 * row, 6 times. */
#define CALLED_OFF_REST_US (60 * USEC_PER_SEC)

/* Devices of a job, by flag, on one node and on all others. */
struct footing {
    int32_t now_here, next_here;
    int32_t now_elsewhere, next_elsewhere;
};

static struct footing footing_of(const struct core *core, uint32_t job, int32_t node)
{
    const struct cluster *c = core_cluster(core);
    struct footing f = {0};
    int32_t first, end;

    cluster_span(c, job, &first, &end);
    for (int32_t i = first; i < end; i++) {
        const struct device *dev = &c->devices[i];
        bool is_here = (int32_t)dev->node == node;

        if (dev->job != job)
            continue;
        f.now_here += is_here && (dev->flags & HOLD_NOW);
        f.next_here += is_here && (dev->flags & HOLD_NEXT);
        f.now_elsewhere += !is_here && (dev->flags & HOLD_NOW);
        f.next_elsewhere += !is_here && (dev->flags & HOLD_NEXT);
    }
    return f;
}

/* The job's run record, copied, if the event speaks of its newest incarnation. */
static bool take_run(const struct draft *d, const struct event *event,
                     struct job_run *ret)
{
    const struct job *job = core_find_job(d->core, event->job);

    if (!job || event->incarnation == 0 || event->incarnation != job->run.incarnation)
        return false;
    if (!job_state_holds_devices(job->run.state))
        return false;
    *ret = job->run;
    ret->is_unconfirmed = false;
    return true;
}

/* What was trained; less than was counted before means work that is repeated. */
static void count_samples(struct job_run *run, int64_t samples)
{
    if (samples < 0)
        return;
    if (samples < run->samples_done)
        run->samples_repeated =
            i64_add_capped(run->samples_repeated, run->samples_done - samples);
    run->samples_done = samples;
}

/* What the newest checkpoint holds. */
static void set_saved(struct job_run *run, int64_t samples)
{
    count_samples(run, samples);
    if (samples >= 0)
        run->samples_saved = samples;
}

static bool is_leaving(const struct job_run *run)
{
    return run->state == JOB_RESIZING && run->phase != JOB_PHASE_START;
}

/* Back to the queue, ahead of all that never ran. */
static void set_head_of_queue(struct draft *d, struct job_run *run, usec_t retry_us)
{
    run->order = d->globals.head_order--;
    run->retry_us = retry_us;
}

/* A micro-batch that did not fit lowers the job's ceiling (R14); false: it is at 1
 * sample. */
static bool learn_ceiling(struct draft *d, const struct job_run *run)
{
    const struct job *job = core_find_job(d->core, run->id);
    const struct job_plan *plan = run->state == JOB_RESIZING ? &run->next : &run->plan;
    struct perf_model model = job->model;

    if (plan->micro_batch <= 1 || !learn_out_of_memory(&model, plan->micro_batch))
        return false;
    draft_put_model(d, run->id, &model);
    return true;
}

/* A restart for a fault that is not the job's own costs no retry and waits for nothing;
 * but an incarnation that is lost soon after its start, again and again, must not spin.
 */
static usec_t after_fault_of_ours(const struct draft *d, const struct job_run *run,
                                  enum job_cause cause)
{
    bool is_young = d->now_us - run->moved_us < YOUNG_SPAN_US;

    return cause == JOB_CAUSE_LOST && is_young ? d->now_us + RETRY_DELAY_US : 0;
}

/* Where an end that nobody asked for leads, and with which words. */
static enum job_state goal_after(struct draft *d, struct job_run *run,
                                 const struct event *event, char why[REASON_MAX_BYTES])
{
    const struct job *job = core_find_job(d->core, run->id);
    int32_t tries = i32_max(0, job->spec.retries - run->retries_left);
    bool is_fault_of_ours = event->cause == JOB_CAUSE_NODE_LOST ||
                            event->cause == JOB_CAUSE_LOST ||
                            event->cause == JOB_CAUSE_DEVICE_BUSY || run->is_broken;

    if (event->cause == JOB_CAUSE_DONE) {
        (void)snprintf(why, REASON_MAX_BYTES, "finished");
        return JOB_DONE;
    }
    if (event->text[0])
        (void)snprintf(why, REASON_MAX_BYTES, "%s", event->text);
    else if (event->cause == JOB_CAUSE_USER_ERROR)
        (void)snprintf(why, REASON_MAX_BYTES, "exit code %d", event->exit_code);
    else
        (void)snprintf(why, REASON_MAX_BYTES, "%s", job_cause_name(event->cause));
    if (is_fault_of_ours) {
        set_head_of_queue(d, run, after_fault_of_ours(d, run, event->cause));
        return JOB_QUEUED;
    }
    if (event->cause == JOB_CAUSE_OUT_OF_MEMORY && learn_ceiling(d, run)) {
        set_head_of_queue(d, run, 0);
        return JOB_QUEUED;
    }
    if (event->cause == JOB_CAUSE_START_FAILED || run->retries_left <= 0)
        return JOB_FAILED;
    run->retries_left--;
    set_head_of_queue(d, run, d->now_us + (RETRY_DELAY_US << i32_min(tries, 5)));
    return JOB_QUEUED;
}

/* STARTING, RUNNING, or starting anew in a resize: an end out of turn. */
static void end_out_of_turn(struct draft *d, struct job_run *run,
                            const struct event *event, const struct footing *f,
                            int32_t node)
{
    char why[REASON_MAX_BYTES];
    enum job_state goal = goal_after(d, run, event, why);

    job_move(run, JOB_STOPPING, goal, d->now_us, "%s", why);
    draft_put_run(d, run);
    d->globals.needs_plan = true;
    if (f->now_elsewhere == 0)
        decide_ended(d, run);
    else
        draft_update_holds(d, run->id, node, 0, 0);
}

/* The old incarnation is gone: the next one starts, if its devices are still there. */
static void start_next(struct draft *d, struct job_run *run, int32_t next_left)
{
    const struct cluster *c = core_cluster(d->core);
    int32_t first, end;

    d->globals.needs_plan = true;
    if (next_left < run->next.size) {
        set_head_of_queue(d, run, 0);
        job_move(run, JOB_STOPPING, JOB_QUEUED, d->now_us,
                 "the devices of its next size were lost");
        draft_put_run(d, run);
        decide_ended(d, run);
        return;
    }
    job_set_phase(run, JOB_PHASE_START);
    run->incarnation++;
    run->rate_milli = 0;
    run->cause = JOB_CAUSE_NONE;
    draft_put_run(d, run);
    cluster_span(c, run->id, &first, &end);
    for (int32_t i = first; i < end; i++) {
        bool is_next = c->devices[i].flags & HOLD_NEXT;

        if (c->devices[i].job == run->id)
            draft_put_hold(d, i, is_next ? run->id : 0,
                           is_next ? HOLD_NOW | HOLD_NEXT : 0u);
    }
}

/* Somebody's signal hit a job that was about to save for a change of size (R02): the
 * change goes on without it, from the checkpoint before. Not twice without a save in
 * between, since a save that brings down its process ends the same way. */
static bool is_stray_signal(struct job_run *run, const struct event *event)
{
    if (run->phase != JOB_PHASE_SAVE || event->cause != JOB_CAUSE_KILLED ||
        run->saves_failed > 0)
        return false;
    run->saves_failed = 1;
    return true;
}

/* One node of a job that leaves its old size has ended. */
static void exit_while_leaving(struct draft *d, struct job_run *run,
                               const struct event *event, const struct footing *f,
                               int32_t node)
{
    bool is_unasked = run->phase == JOB_PHASE_SAVE && event->cause != JOB_CAUSE_STOPPED &&
                      !is_stray_signal(run, event);

    if (event->cause == JOB_CAUSE_DONE || is_unasked) {
        end_out_of_turn(d, run, event, f, node);
        return;
    }
    if (f->now_elsewhere == 0) {
        start_next(d, run, f->next_here + f->next_elsewhere);
        return;
    }
    if (run->phase == JOB_PHASE_SAVE)
        job_set_phase(run, JOB_PHASE_EXIT);
    draft_put_run(d, run);
    draft_update_holds(d, run->id, node, HOLD_NEXT, 0);
}

static void exit_while_stopping(struct draft *d, struct job_run *run,
                                const struct event *event, const struct footing *f,
                                int32_t node)
{
    if (event->cause == JOB_CAUSE_DONE && !job_state_is_final(run->goal))
        job_set_goal(run, JOB_DONE, "finished before it could be stopped");
    if (f->now_elsewhere == 0) {
        decide_ended(d, run);
        return;
    }
    draft_put_run(d, run);
    draft_update_holds(d, run->id, node, 0, 0);
}

void decide_exit(struct draft *d, const struct event *event)
{
    const struct node *node = cluster_find_node(core_cluster(d->core), event->node.name);
    struct footing f;
    struct job_run run;

    if (!node || !take_run(d, event, &run))
        return;
    f = footing_of(d->core, run.id, (int32_t)node->index);
    if (f.now_here == 0)
        return; /* taken before */
    set_saved(&run, event->samples);
    if (run.cause == JOB_CAUSE_NONE || run.cause == JOB_CAUSE_STOPPED) {
        run.cause = event->cause;
        run.exit_code = event->exit_code;
    }
    if (run.state == JOB_STOPPING)
        exit_while_stopping(d, &run, event, &f, (int32_t)node->index);
    else if (is_leaving(&run))
        exit_while_leaving(d, &run, event, &f, (int32_t)node->index);
    else
        end_out_of_turn(d, &run, event, &f, (int32_t)node->index);
}

void decide_started(struct draft *d, const struct event *event)
{
    struct job_run run;
    char why[REASON_MAX_BYTES];
    usec_t stall;

    if (!take_run(d, event, &run))
        return;
    if (run.state == JOB_RESIZING && run.phase == JOB_PHASE_START) {
        stall = d->now_us - run.since_us;
        if (run.stall_us[JOB_STALL_RESTART] > 0)
            stall = (stall + run.stall_us[JOB_STALL_RESTART]) / 2;
        run.stall_us[JOB_STALL_RESTART] = stall;
        run.resizes++;
        run.plan = run.next;
    } else if (run.state != JOB_STARTING) {
        if (core_find_job(d->core, run.id)->run.is_unconfirmed)
            draft_put_run(d, &run);
        return;
    }
    run.has_started = true;
    memcpy(why, run.reason, sizeof why); /* it runs for the reason for which it moved */
    job_move(&run, JOB_RUNNING, JOB_RUNNING, d->now_us, "%s", why);
    draft_put_run(d, &run);
    draft_update_holds(d, run.id, -1, HOLD_NOW, 0);
    d->globals.needs_plan = true;
}

void decide_saved(struct draft *d, const struct event *event)
{
    struct job_run run;

    if (!take_run(d, event, &run))
        return;
    if (run.state != JOB_RESIZING || run.phase != JOB_PHASE_SAVE)
        return;
    if (event->samples > run.samples_done)
        run.samples_done = event->samples;
    run.samples_saved = i64_max(run.samples_saved, event->samples);
    run.saves_failed = 0;
    job_set_phase(&run, JOB_PHASE_EXIT);
    draft_put_run(d, &run);
}

/* The resize is off; the job keeps what it has and is left alone for a while (R16). */
static void call_off(struct draft *d, struct job_run *run, const char *why)
{
    int32_t doublings = i32_min(i32_max(run->saves_failed - 1, 0), 6);

    run->retry_us = d->now_us + (CALLED_OFF_REST_US << doublings);
    job_move(run, JOB_RUNNING, JOB_RUNNING, d->now_us, "resize called off: %s", why);
    draft_put_run(d, run);
    draft_update_holds(d, run->id, -1, HOLD_NOW, 0);
    d->globals.needs_plan = true;
}

void decide_save_failed(struct draft *d, const struct event *event)
{
    struct job_run run;

    if (!take_run(d, event, &run))
        return;
    if (run.state != JOB_RESIZING || run.phase != JOB_PHASE_SAVE)
        return;
    run.saves_failed = i32_min(run.saves_failed + 1, INT16_MAX);
    call_off(d, &run, event->text[0] ? event->text : "the save failed");
}

void decide_perf(struct draft *d, const struct event *event)
{
    struct job_run run;

    if (!take_run(d, event, &run))
        return;
    count_samples(&run, event->samples); /* less than before: it began at a checkpoint */
    if (event->samples_total > 0)
        run.samples_total = event->samples_total;
    if (event->rate_milli > 0)
        run.rate_milli = event->rate_milli;
    if (event->warm_up_us > 0)
        run.warm_up_us = event->warm_up_us;
    draft_put_run(d, &run);
}

/* Room for one more profile: the one that was not heard of for the longest time goes. */
static void forget_oldest_profile(struct draft *d)
{
    size_t n = core_n_profiles(d->core);
    struct profile oldest;

    if (n < PROFILES_MAX)
        return;
    oldest = *core_profile_at(d->core, 0);
    for (size_t i = 1; i < n; i++)
        if (core_profile_at(d->core, i)->updated_us < oldest.updated_us)
            oldest = *core_profile_at(d->core, i);
    oldest.is_removed = true;
    draft_put_profile(d, &oldest);
}

/* What a job has measured serves the next of its family. */
static void keep_profile(struct draft *d, const struct job *job,
                         const struct perf_model *model)
{
    struct profile profile = {
        .uid = job->spec.uid, .updated_us = d->now_us, .model = *model};

    if (model->source != MODEL_MEASURED || model->n_proc == 0)
        return;
    job_spec_family(&job->spec, profile.family);
    memcpy(profile.device_type, job->spec.device_type, sizeof profile.device_type);
    if (!core_find_profile(d->core, profile.uid, profile.family, profile.device_type))
        forget_oldest_profile(d);
    draft_put_profile(d, &profile);
}

void decide_model(struct draft *d, const struct event *event)
{
    const struct job *job = core_find_job(d->core, event->job);

    if (!job || !event->model || model_check(event->model, NULL) < 0)
        return;
    if (job->spec.profile == JOB_PROFILE_OFF)
        return; /* on its way while the job's owner turned it off */
    draft_put_model(d, event->job, event->model);
    keep_profile(d, job, event->model);
    d->globals.needs_plan = true;
}

/* Nodes. */

static void lose_devices(struct draft *d, uint32_t id, int32_t node)
{
    struct footing f = footing_of(d->core, id, node);
    struct job_run run = core_find_job(d->core, id)->run;
    struct event lost = {.cause = JOB_CAUSE_NODE_LOST};

    (void)snprintf(lost.text, sizeof lost.text, "node %s was lost",
                   core_cluster(d->core)->nodes[node].name);
    if (run.state == JOB_STOPPING) {
        exit_while_stopping(d, &run, &lost, &f, node);
    } else if (is_leaving(&run) && f.now_here == 0) {
        if (run.phase == JOB_PHASE_SAVE) {
            call_off(d, &run, lost.text);
            return;
        }
        draft_update_holds(d, id, node, 0, 0); /* start_next() will see what is missing */
    } else if (is_leaving(&run)) {
        if (f.now_elsewhere == 0) {
            start_next(d, &run, f.next_elsewhere);
            return;
        }
        if (run.phase == JOB_PHASE_SAVE)
            job_set_phase(&run, JOB_PHASE_EXIT);
        draft_put_run(d, &run);
        draft_update_holds(d, id, node, 0, 0);
    } else if (run.state == JOB_RUNNING && f.now_elsewhere > 0) {
        run.is_broken = true;
        (void)snprintf(run.reason, sizeof run.reason, "%s", lost.text);
        draft_put_run(d, &run);
        draft_update_holds(d, id, node, 0, 0);
    } else {
        end_out_of_turn(d, &run, &lost, &f, node);
    }
    d->globals.needs_plan = true;
}

/* The job with the largest id below this one that holds a device of the node; 0: none. */
static uint32_t previous_job(const struct cluster *c, const struct node *node,
                             uint32_t id)
{
    uint32_t found = 0;

    for (int32_t i = node->first; i < node->first + node->devices; i++)
        if (c->devices[i].job < id && c->devices[i].job > found)
            found = c->devices[i].job;
    return found;
}

/* Younger jobs first: each that returns goes to the head of the queue, so in the end the
 * oldest stands there. */
void decide_node_lost(struct draft *d, const struct event *event)
{
    const struct cluster *c = core_cluster(d->core);
    const struct node *known = cluster_find_node(c, event->node.name);
    struct node node;

    if (!known || known->state == NODE_LOST)
        return;
    node = *known;
    node.state = NODE_LOST;
    node.since_us = d->now_us;
    draft_put_node(d, &node);
    for (uint32_t id = previous_job(c, &node, UINT32_MAX); id != 0;
         id = previous_job(c, &node, id))
        lose_devices(d, id, (int32_t)node.index);
    d->globals.needs_plan = true;
}

/* A device that nobody holds is given out, or not, from now on; one that a job holds is
 * looked at again when the job gives it back. */
void decide_device(struct draft *d, const struct event *event)
{
    const struct cluster *c = core_cluster(d->core);
    const struct node *node = cluster_find_node(c, event->node.name);
    struct device_mark mark = {.state = event->device_state, .since_us = d->now_us};
    const struct device_mark *old;
    enum device_state before;

    if (!node || event->device < 0 || event->device >= node->devices)
        return;
    mark.device = node->first + event->device;
    if (mark.state != DEVICE_CLEAN)
        (void)snprintf(mark.who, sizeof mark.who, "%s", event->text);
    old = cluster_find_mark(c, mark.device);
    before = old ? old->state : DEVICE_CLEAN;
    if (before == mark.state && (!old || strcmp(old->who, mark.who) == 0))
        return;
    if (before == mark.state)
        mark.since_us = old->since_us;
    draft_put_mark(d, &mark);
    d->globals.needs_plan = true;
}

/* The daemon's own restart, and time. */

void decide_daemon_start(struct draft *d)
{
    bool any = false;

    for (size_t i = 0; i < core_n_jobs(d->core); i++) {
        struct job_run run = core_job_at(d->core, i)->run;

        if (!job_state_holds_devices(run.state))
            continue;
        run.is_unconfirmed = true;
        draft_put_run(d, &run);
        any = true;
    }
    d->globals.confirm_until_us = any ? d->now_us + CONFIRM_SPAN_US : 0;
    d->globals.needs_plan = true;
}

void decide_adopted(struct draft *d, const struct event *event)
{
    struct job_run run;

    if (!take_run(d, event, &run) || !core_find_job(d->core, run.id)->run.is_unconfirmed)
        return;
    if (event->samples > run.samples_done)
        run.samples_done = event->samples;
    draft_put_run(d, &run);
    d->globals.needs_plan = true;
}

/* Nobody answered for the job since the daemon started. */
static void give_up_unconfirmed(struct draft *d, const struct job *job)
{
    const struct event lost = {.cause = JOB_CAUSE_LOST,
                               .text = "nobody answered for it after the restart"};
    const struct footing none = {0};
    struct job_run run = job->run;

    run.cause = JOB_CAUSE_LOST;
    if (run.state == JOB_STOPPING)
        decide_ended(d, &run);
    else
        end_out_of_turn(d, &run, &lost, &none, -1);
}

static void end_at_time_limit(struct draft *d, const struct job *job)
{
    struct job_run run = job->run;

    run.cause = JOB_CAUSE_TIME_LIMIT;
    job_move(&run, JOB_STOPPING, JOB_FAILED, d->now_us, "its time limit is over");
    draft_put_run(d, &run);
    d->globals.needs_plan = true;
}

static void wake_job(struct draft *d, const struct job *job, bool confirm_is_over)
{
    const struct job_run *run = &job->run;
    bool is_active = run->state == JOB_RUNNING || run->state == JOB_RESIZING;
    struct job_run rested;

    if (confirm_is_over && run->is_unconfirmed) {
        give_up_unconfirmed(d, job);
        return;
    }
    if (is_active && job->spec.time_limit_us > 0 &&
        run->active_us + d->now_us - run->since_us >= job->spec.time_limit_us) {
        end_at_time_limit(d, job);
        return;
    }
    if (run->retry_us > 0 && run->retry_us <= d->now_us) {
        rested = *run;
        rested.retry_us = 0;
        draft_put_run(d, &rested);
        d->globals.needs_plan = true;
    }
}

void decide_wake(struct draft *d)
{
    struct globals *g = &d->globals;
    bool confirm_is_over = g->confirm_until_us > 0 && g->confirm_until_us <= d->now_us;

    for (size_t i = core_n_jobs(d->core); i > 0; i--) /* younger first, as above */
        wake_job(d, core_job_at(d->core, i - 1), confirm_is_over);
    if (confirm_is_over)
        g->confirm_until_us = 0;
    if (g->plan_wake_us <= d->now_us) {
        g->plan_wake_us = USEC_NEVER;
        g->needs_plan = true;
    }
}
