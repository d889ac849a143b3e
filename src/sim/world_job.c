/* SPDX-License-Identifier: Apache-2.0 */
/* world_job.c - the life of one job's processes in the modelled cluster.
 *
 * Progress is a straight line between two moments: samples(t) = samples + rate * (t -
 * since). So nothing ticks while a job trains; the end is computed when training goes on.
 * Invariants:
 *   1. Each change of state raises j->serial, which voids the timers of the old state.
 *   2. A process that lives owns its devices in w->nodes; it leaves them in end_proc() or
 *      with its node, and nowhere else.
 *   3. `saved` never exceeds `samples`; what lies between is lost by an unplanned end.
 *   4. A duty that is performed again repeats the answer, if none is on the way. */
#include "sim/world_job.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "core/perf/row.h"

#define FIRST_PERF_US   (10 * USEC_PER_SEC)
#define SAVE_DEFAULT_US (10 * USEC_PER_MIN)
#define RECONNECT_US    USEC_PER_SEC
#define BATCHLESS_PER_RANK                                                               \
    64 /* a job that states no batch: samples per rank and step                          \
        */

double world_rate(const struct scn_job *job, const struct job_plan *plan, int32_t nodes)
{
    int32_t batch = plan->global_batch;
    int32_t micro = plan->micro_batch;

    if (plan->size < 1)
        return 0;
    if (batch < 1) {
        batch = plan->size * BATCHLESS_PER_RANK;
        micro = BATCHLESS_PER_RANK;
    }
    return model_rate(&job->truth, plan->size, nodes, batch, micro,
                      i32_max(plan->accumulation, 1));
}

/* The plan at the smallest size the job can have; size 0 when it can have none. */
static struct job_plan smallest_plan(const struct scn_job *job)
{
    struct row_rule rule = {.batch = ROW_BATCH_JOINT,
                            .devices_per_node = NODE_DEVICES_MAX};
    struct job_spec spec = job->spec;
    struct job_plan plan = {0};
    struct row row;

    job_spec_complete(&spec);
    row_init(&row);
    if (job_spec_check(&spec, NULL) == 0 &&
        row_build(&row, &spec, &job->truth, &rule, NULL) == 0)
        plan = (struct job_plan){.size = row.options[0].size,
                                 .global_batch = row.options[0].global_batch,
                                 .micro_batch = row.options[0].micro_batch,
                                 .accumulation = row.options[0].accumulation};
    row_release(&row);
    return plan;
}

int64_t world_samples(const struct scn_job *job)
{
    struct job_plan plan;
    double rate;

    if (job->device_us <= 0)
        return job->spec.samples_total;
    plan = smallest_plan(job);
    rate = world_rate(job, &plan, 1);
    if (plan.size < 1 || rate <= 0)
        return i64_max(1, job->device_us / USEC_PER_SEC);
    return i64_max(1, (int64_t)((double)job->device_us / 1e6 * rate / plan.size));
}

static const struct scn_job *scn_of(const struct world *w, const struct wjob *j)
{
    return &w->scn->jobs[wjob_index(w, j)];
}

static usec_t save_every(const struct scn_job *job)
{
    if (job->save_every_us >= 0)
        return job->save_every_us;
    return job->spec.level == JOB_RIGID ? 0 : SAVE_DEFAULT_US;
}

static int64_t samples_at(const struct wjob *j, usec_t now_us)
{
    usec_t from_us = i64_max(j->since_us, j->warm_us);
    int64_t samples = j->samples;

    ASSERT(now_us >= j->since_us);
    if (j->state == W_TRAINING && now_us > from_us)
        samples += (int64_t)(j->rate * ((double)(now_us - from_us) / 1e6));
    return j->total > 0 ? i64_min(samples, j->total) : samples;
}

/* Counts samples up to now, and the checkpoints the trainer wrote by itself meanwhile. */
static void sync(const struct world *w, struct wjob *j, usec_t now_us)
{
    usec_t every = save_every(scn_of(w, j));

    if (j->state == W_TRAINING && every > 0) {
        usec_t last = (now_us - j->trained_us) / every * every + j->trained_us;

        if (last >= j->since_us && last > j->trained_us)
            j->saved = samples_at(j, last);
    }
    j->samples = samples_at(j, now_us);
    j->since_us = now_us;
    ASSERT(j->saved <= j->samples);
}

static void enter(const struct world *w, struct wjob *j, enum wstate state, usec_t now_us)
{
    sync(w, j, now_us);
    j->state = state;
    j->serial++;
}

static void after(struct world *w, const struct wjob *j, enum wtimer_kind kind,
                  usec_t at_us)
{
    const struct wtimer timer = {
        .kind = kind, .job = wjob_index(w, j), .serial = j->serial};

    world_push(w, at_us, &timer);
}

static void train(struct world *w, struct wjob *j, usec_t now_us)
{
    usec_t from_us = i64_max(now_us, j->warm_us);
    usec_t left;

    enter(w, j, W_TRAINING, now_us);
    j->trained_us = now_us;
    if (w->scn->delays.perf_us > 0)
        after(w, j, T_PERF, from_us + i64_min(FIRST_PERF_US, w->scn->delays.perf_us));
    if (j->total == 0 || j->rate <= 0)
        return;
    left = (usec_t)((double)(j->total - j->samples) / j->rate * 1e6) + 1;
    after(w, j, T_FINISH, from_us + left);
}

/* Sends the answer, unless it is one that is to be lost, late or doubled. */
static void answer(struct world *w, struct wjob *j, usec_t now_us,
                   const struct wanswer *what)
{
    enum scn_answer which = what->which;
    struct wtimer timer = {.kind = T_ANSWER, .job = wjob_index(w, j), .answer = *what};
    usec_t at_us = now_us;

    if (which < SCN_ANSWER_MAX) {
        at_us += j->late_us[which];
        at_us += j->lose[which] ? w->scn->delays.resend_us : 0;
        j->late_us[which] = 0;
        j->lose[which] = false;
        j->pending[which]++;
    }
    world_push(w, at_us, &timer);
    if (which < SCN_ANSWER_MAX && j->twice[which]) {
        j->twice[which] = false;
        j->pending[which]++;
        world_push(w, at_us, &timer);
    }
}

static void answer_started(struct world *w, struct wjob *j, usec_t now_us)
{
    const struct wanswer what = {.kind = EVENT_STARTED,
                                 .which = SCN_ANSWER_STARTED,
                                 .incarnation = j->incarnation,
                                 .samples = j->samples};

    if (j->pending[SCN_ANSWER_STARTED] == 0)
        answer(w, j, now_us, &what);
}

static void answer_saved(struct world *w, struct wjob *j, usec_t now_us)
{
    const struct wanswer what = {.kind = EVENT_SAVED,
                                 .which = SCN_ANSWER_SAVED,
                                 .incarnation = j->incarnation,
                                 .samples = j->saved};

    if (j->pending[SCN_ANSWER_SAVED] == 0)
        answer(w, j, now_us, &what);
}

static void answer_save_failed(struct world *w, struct wjob *j, usec_t now_us,
                               const char *why)
{
    const struct wanswer what = {.kind = EVENT_SAVE_FAILED,
                                 .which = SCN_ANSWER_SAVED,
                                 .incarnation = j->incarnation,
                                 .samples = j->saved,
                                 .text = why};

    answer(w, j, now_us, &what);
}

static void answer_exit(struct world *w, struct wjob *j, usec_t now_us,
                        struct wproc *proc, const char *text)
{
    const struct wanswer what = {.kind = EVENT_EXIT,
                                 .which = SCN_ANSWER_EXIT,
                                 .incarnation = j->incarnation,
                                 .proc_node = proc->node,
                                 .cause = proc->cause,
                                 .exit_code = proc->exit_code,
                                 .samples = j->saved,
                                 .text = text};

    if (proc->is_pending)
        return;
    proc->is_pending = true;
    answer(w, j, now_us, &what);
}

/* Repeats the exits that are not on their way. */
static void answer_exits_again(struct world *w, struct wjob *j, usec_t now_us)
{
    for (int32_t i = 0; i < j->n_procs; i++)
        if (!j->procs[i].is_alive && !j->procs[i].is_vanished)
            answer_exit(w, j, now_us, &j->procs[i], NULL);
}

static int32_t n_alive(const struct wjob *j)
{
    int32_t n = 0;

    for (int32_t i = 0; i < j->n_procs; i++)
        n += j->procs[i].is_alive;
    return n;
}

static void leave_devices(struct world *w, const struct wjob *j, int32_t node)
{
    for (int32_t d = 0; d < w->scn->nodes[node].devices; d++)
        if (w->nodes[node].owners[d] == j->id)
            w->nodes[node].owners[d] = 0;
}

static void end_proc(struct world *w, struct wjob *j, struct wproc *proc,
                     enum job_cause cause, int32_t exit_code)
{
    ASSERT(proc->is_alive);
    proc->is_alive = false;
    proc->cause = cause;
    proc->exit_code = exit_code;
    leave_devices(w, j, proc->node);
}

static void end_all(struct world *w, struct wjob *j, usec_t now_us, enum job_cause cause,
                    int32_t exit_code)
{
    for (int32_t i = 0; i < j->n_procs; i++) {
        if (!j->procs[i].is_alive)
            continue;
        end_proc(w, j, &j->procs[i], cause, exit_code);
        answer_exit(w, j, now_us, &j->procs[i],
                    cause == JOB_CAUSE_START_FAILED  ? "the command was not found"
                    : cause == JOB_CAUSE_DEVICE_BUSY ? "a gpu was in use by somebody else"
                                                     : NULL);
    }
    enter(w, j, W_ENDED, now_us);
}

static struct wproc *proc_on(struct world *w, struct wjob *j, int32_t node)
{
    void *p = j->procs;

    for (int32_t i = 0; i < j->n_procs; i++)
        if (j->procs[i].node == node)
            return &j->procs[i];
    if (mem_reserve(&p, &j->cap_procs, (size_t)j->n_procs + 1, sizeof *j->procs) < 0) {
        w->error = E_NOMEM;
        return NULL;
    }
    j->procs = p;
    j->procs[j->n_procs] = (struct wproc){.node = node,
                                          .is_alive = !w->nodes[node].is_down,
                                          .is_vanished = w->nodes[node].is_down};
    return &j->procs[j->n_procs++];
}

/* Puts a process on device `slot` of the node, which nobody else may be using. */
static void claim(struct world *w, struct wjob *j, int32_t node, int32_t slot)
{
    struct wproc *proc = proc_on(w, j, node);
    uint32_t *owner = &w->nodes[node].owners[slot];

    if (!proc || !proc->is_alive)
        return;
    if (*owner != 0)
        world_broken(w, "job %u starts on device %d of %s, where job %u still runs",
                     j->id, slot, w->scn->nodes[node].name, *owner);
    *owner = j->id;
    j->is_refused |= w->nodes[node].marks[slot].state != DEVICE_CLEAN;
}

void wjob_started(struct world *w, struct wjob *j, usec_t now_us)
{
    ASSERT(j->state == W_STARTING);
    if (j->is_refused) {
        end_all(w, j, now_us, JOB_CAUSE_DEVICE_BUSY, 0);
        return;
    }
    if (j->start_fails) {
        j->start_fails = false;
        end_all(w, j, now_us, JOB_CAUSE_START_FAILED, 127);
        return;
    }
    if (n_alive(j) < j->n_procs || j->n_procs == 0) {
        enter(w, j, W_HUNG, now_us);
        return;
    }
    j->rate = world_rate(scn_of(w, j), &j->plan, j->n_procs);
    j->warm_us = now_us + w->scn->delays.warm_up_us;
    train(w, j, now_us);
    answer_started(w, j, now_us);
}

void wjob_finish(struct world *w, struct wjob *j, usec_t now_us)
{
    sync(w, j, now_us);
    j->samples = j->total;
    j->saved = j->total;
    end_all(w, j, now_us, JOB_CAUSE_DONE, 0);
}

void wjob_saved(struct world *w, struct wjob *j, usec_t now_us)
{
    enter(w, j, W_HELD, now_us);
    if (j->save_hangs) {
        j->save_hangs = false;
        answer_save_failed(w, j, now_us, "no answer to the notice within the grace");
    } else if (j->save_fails) {
        j->save_fails = false;
        answer_save_failed(w, j, now_us, "no space left for the checkpoint");
    } else {
        j->saved = j->samples;
        answer_saved(w, j, now_us);
    }
}

void wjob_exit(struct world *w, struct wjob *j, usec_t now_us)
{
    if (j->is_saved_on_exit)
        j->saved = j->samples;
    end_all(w, j, now_us, j->end_cause, j->end_cause == JOB_CAUSE_KILLED ? 137 : 0);
}

void wjob_perf(struct world *w, struct wjob *j, usec_t now_us)
{
    const struct wanswer what = {.kind = EVENT_PERF,
                                 .which = SCN_ANSWER_MAX,
                                 .incarnation = j->incarnation,
                                 .samples = samples_at(j, now_us),
                                 .rate_milli = (int64_t)(j->rate * 1000),
                                 .warm_up_us = w->scn->delays.warm_up_us};

    answer(w, j, now_us, &what);
    after(w, j, T_PERF, now_us + w->scn->delays.perf_us);
}

void wjob_begin(struct world *w, struct wjob *j, usec_t now_us, const struct core *core,
                const struct duty *duty)
{
    const struct cluster *c = core_cluster(core);

    if (duty->incarnation == j->incarnation) {
        if (j->state == W_TRAINING)
            answer_started(w, j, now_us);
        answer_exits_again(w, j, now_us);
        return;
    }
    if (duty->incarnation < j->incarnation)
        return;
    if (n_alive(j) > 0)
        world_broken(w, "job %u starts incarnation %u while %u still lives", j->id,
                     duty->incarnation, j->incarnation);
    enter(w, j, W_STARTING, now_us);
    j->incarnation = duty->incarnation;
    j->plan = duty->plan;
    j->samples = j->saved;
    j->is_saved_on_exit = false;
    j->is_refused = false;
    j->n_procs = 0;
    memset(j->pending, 0, sizeof j->pending);
    for (int32_t d = 0; d < c->n_devices; d++) {
        const struct node *node = &c->nodes[c->devices[d].node];

        if (c->devices[d].job == j->id && (c->devices[d].flags & HOLD_NEXT))
            claim(w, j, scenario_find_node(w->scn, node->name), d - node->first);
    }
    if (j->is_refused) {
        after(w, j, T_STARTED, now_us);
        return;
    }
    after(w, j, T_STARTED,
          now_us +
              (j->starts == 0 ? w->scn->delays.start_us : w->scn->delays.restart_us));
    j->starts++;
}

void wjob_save(struct world *w, struct wjob *j, usec_t now_us, usec_t grace_us)
{
    usec_t span = w->scn->delays.save_us;

    if (j->state == W_HELD)
        answer_saved(w, j, now_us);
    if (j->state == W_ENDED)
        answer_exits_again(w, j, now_us);
    if (j->state != W_TRAINING)
        return;
    enter(w, j, W_SAVING, now_us);
    if (span > grace_us)
        j->save_hangs = true; /* it would need longer than it has */
    after(w, j, T_SAVED, now_us + (j->save_hangs ? grace_us : span));
}

void wjob_stop(struct world *w, struct wjob *j, usec_t now_us, usec_t grace_us)
{
    const struct scn_delays *d = &w->scn->delays;
    bool may_save = j->state == W_TRAINING || j->state == W_SAVING;
    usec_t span = d->stop_us;

    if (j->state == W_ENDED)
        answer_exits_again(w, j, now_us);
    if (j->state == W_NONE || j->state == W_STOPPING || j->state == W_ENDED)
        return;
    may_save = may_save && scn_of(w, j)->spec.level != JOB_RIGID;
    enter(w, j, W_STOPPING, now_us);
    j->end_cause = JOB_CAUSE_STOPPED;
    j->is_saved_on_exit = may_save && !j->save_fails && !j->save_hangs;
    if (may_save)
        span += d->save_us;
    if (may_save && (j->save_hangs || span > grace_us)) {
        j->end_cause = JOB_CAUSE_KILLED;
        j->is_saved_on_exit = false;
        span = grace_us;
    }
    if (may_save)
        j->save_fails = j->save_hangs = false;
    after(w, j, T_EXIT, now_us + span);
}

void wjob_go_on(struct world *w, struct wjob *j, usec_t now_us)
{
    if (j->state == W_SAVING || j->state == W_HELD)
        train(w, j, now_us);
    else if (j->state == W_ENDED)
        answer_exits_again(w, j, now_us);
}

void wjob_lose_node(struct world *w, struct wjob *j, usec_t now_us, int32_t node)
{
    bool any = false;

    for (int32_t i = 0; i < j->n_procs; i++) {
        if (j->procs[i].node != node || !j->procs[i].is_alive)
            continue;
        j->procs[i].is_alive = false;
        j->procs[i].is_vanished = true;
        any = true;
    }
    if (!any)
        return;
    leave_devices(w, j, node);
    if (n_alive(j) == 0)
        enter(w, j, W_ENDED, now_us);
    else if (j->state != W_STOPPING)
        enter(w, j, W_HUNG, now_us);
    else
        j->is_saved_on_exit = false;
}

bool wjob_crash(struct world *w, struct wjob *j, usec_t now_us, int32_t exit_code)
{
    struct wproc *proc = NULL;

    if (j->state != W_TRAINING && j->state != W_SAVING && j->state != W_HELD)
        return false;
    for (int32_t i = j->n_procs; i > 0; i--)
        if (j->procs[i - 1].is_alive)
            proc = &j->procs[i - 1];
    ASSERT(proc);
    enter(w, j, n_alive(j) > 1 ? W_HUNG : W_ENDED, now_us);
    end_proc(w, j, proc, JOB_CAUSE_USER_ERROR, exit_code);
    answer_exit(w, j, now_us, proc, NULL);
    return true;
}

void wjob_report_vanished(struct world *w, struct wjob *j, usec_t now_us, int32_t node)
{
    for (int32_t i = 0; i < j->n_procs; i++) {
        if (j->procs[i].node != node || !j->procs[i].is_vanished)
            continue;
        j->procs[i].cause = JOB_CAUSE_NODE_LOST;
        answer_exit(w, j, now_us, &j->procs[i], "the node restarted");
    }
}

void wjob_report(struct world *w, struct wjob *j, usec_t now_us)
{
    const struct wanswer what = {.kind = EVENT_ADOPTED,
                                 .which = SCN_ANSWER_MAX,
                                 .incarnation = j->incarnation,
                                 .samples = -1};
    usec_t then_us = now_us + RECONNECT_US;

    if (j->id == 0 || j->state == W_NONE)
        return;
    if (n_alive(j) > 0)
        answer(w, j, then_us, &what);
    if (j->state == W_TRAINING)
        answer_started(w, j, then_us);
    if (j->state == W_HELD)
        answer_saved(w, j, then_us);
    answer_exits_again(w, j, then_us);
    for (int32_t i = 0; i < j->n_procs; i++)
        if (!w->nodes[j->procs[i].node].is_down)
            wjob_report_vanished(w, j, then_us, j->procs[i].node);
}
