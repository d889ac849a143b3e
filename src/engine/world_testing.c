/* SPDX-License-Identifier: Apache-2.0 */
/* world_testing.c - see world_testing.h. */
#include "engine/world_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/units.h"
#include "core/core.h"
#include "core/duty.h"
#include "wire/journal.h"

static const char *const node_names[WORLD_NODES] = {"n1", "n2"};
static const int32_t node_devices[WORLD_NODES] = {4, 2};

static struct world_proc *find_proc(struct world *w, uint32_t job, uint32_t incarnation)
{
    for (size_t i = w->n_procs; i > 0; i--)
        if (w->procs[i - 1].job == job && w->procs[i - 1].incarnation == incarnation)
            return &w->procs[i - 1];
    return NULL;
}

static struct world_proc *add_proc(struct world *w, uint32_t job, uint32_t incarnation)
{
    assert_true(w->n_procs < WORLD_PROCS);
    w->procs[w->n_procs] = (struct world_proc){.job = job, .incarnation = incarnation};
    return &w->procs[w->n_procs++];
}

static void reply(struct world *w, struct event event)
{
    assert_true(w->n_replies < WORLD_REPLIES);
    w->replies[w->n_replies++] = event;
}

static void reply_about(struct world *w, enum event_kind kind,
                        const struct world_proc *proc)
{
    reply(w, (struct event){.kind = kind,
                            .job = proc->job,
                            .incarnation = proc->incarnation,
                            .samples = -1});
}

static void reply_exit(struct world *w, const struct world_proc *proc)
{
    for (int i = 0; i < WORLD_NODES; i++) {
        struct event event = {.kind = EVENT_EXIT,
                              .job = proc->job,
                              .incarnation = proc->incarnation,
                              .cause = proc->cause,
                              .samples = -1};

        (void)snprintf(event.node.name, sizeof event.node.name, "%s", node_names[i]);
        reply(w, event);
    }
}

static uint32_t devices_of(const struct core *core, uint32_t job)
{
    int32_t devices[WORLD_DEVICES];
    uint32_t bits = 0;
    int32_t n = duty_devices(core_cluster(core), job, HOLD_NEXT, devices, WORLD_DEVICES);

    for (int32_t i = 0; i < n; i++)
        bits |= BIT(devices[i]);
    return bits;
}

static void start_proc(struct world *w, const struct core *core, const struct duty *duty)
{
    struct world_proc *proc = find_proc(w, duty->job, duty->incarnation);

    if (!proc) {
        proc = add_proc(w, duty->job, duty->incarnation);
        proc->is_alive = true;
        proc->devices = devices_of(core, duty->job);
        assert_true(proc->devices != 0);
        for (size_t i = 0; i + 1 < w->n_procs; i++)
            if (w->procs[i].is_alive)
                assert_int_equal(w->procs[i].devices & proc->devices, 0);
    }
    if (proc->is_alive)
        reply_about(w, EVENT_STARTED, proc);
    else
        reply_exit(w, proc);
}

static void stop_proc(struct world *w, const struct duty *duty)
{
    struct world_proc *proc = find_proc(w, duty->job, duty->incarnation);

    if (!proc) { /* never started, and now it never will be */
        proc = add_proc(w, duty->job, duty->incarnation);
        proc->cause = JOB_CAUSE_STOPPED;
    }
    if (proc->is_alive) {
        proc->is_alive = false;
        proc->cause = JOB_CAUSE_STOPPED;
    }
    reply_exit(w, proc);
}

/* The job as the durable rows alone have it must owe the very same duty. */
static void assert_durable(const struct world *w, const struct core *core,
                           const struct duty *duty)
{
    struct core *durable = journal_fold(&w->journal, w->journal.durable);
    const struct job *job = core_find_job(durable, duty->job);
    struct duty owed;

    assert_non_null(job);
    owed = job_duty(job);
    assert_int_equal(owed.kind, duty->kind);
    assert_int_equal(owed.incarnation, duty->incarnation);
    assert_int_equal(owed.plan.generation, duty->plan.generation);
    assert_int_equal(owed.grace_us, duty->grace_us);
    if (duty->kind == DUTY_START)
        assert_int_equal(devices_of(durable, duty->job), devices_of(core, duty->job));
    core_free(durable);
}

static void on_perform(void *ctx, const struct core *core, const struct job *job,
                       const struct duty *duty)
{
    struct world *w = ctx;
    struct world_proc *proc = find_proc(w, duty->job, duty->incarnation);

    assert_int_equal(job->run.id, duty->job);
    if (w->journal.n > 0)
        assert_durable(w, core, duty);
    w->performed++;
    switch (duty->kind) {
    case DUTY_START:
        start_proc(w, core, duty);
        break;
    case DUTY_SAVE:
        if (proc && proc->is_alive)
            reply_about(w, EVENT_SAVED, proc);
        break;
    case DUTY_STOP:
        stop_proc(w, duty);
        break;
    case DUTY_GO_ON:
        break;
    case DUTY_NONE:
    case DUTY_KIND_MAX:
        fail_msg("an empty duty was performed");
    }
    if (proc && !proc->is_alive && duty->kind != DUTY_STOP && duty->kind != DUTY_START)
        reply_exit(w, proc);
}

static void on_forget(void *ctx, uint32_t job)
{
    struct world *w = ctx;

    for (size_t i = 0; i < w->n_procs; i++)
        if (w->procs[i].job == job)
            assert_false(w->procs[i].is_alive);
}

static void on_step(void *ctx, const struct core *after, const struct event *event)
{
    struct world *w = ctx;
    int64_t seq = engine_seq(w->engine);
    struct err err;

    assert_true(seq < WORLD_ROWS);
    assert_int_equal(event->time_us, core_globals(after)->now_us);
    assert_int_equal(wire_digest(after, &w->digests[seq]), 0);
    if (core_check(after, &err) < 0)
        fail_msg("row %lld (%s): %s", (long long)seq, event_kind_name(event->kind),
                 err.text);
}

static void on_answer(void *arg, int rc, const struct err *err, uint32_t job)
{
    struct world *w = arg;

    (void)err;
    w->answers++;
    if (rc == 0 && job != 0) /* who hears of a job can rely on it */
        assert_true(journal_facts(&w->journal, ENGINE_FACT_JOB, job, NULL) == 1);
}

static void start_engine(struct world *w)
{
    const struct engine_ports ports = {
        .store = journal_port(&w->journal),
        .backend = {.ctx = w, .perform = on_perform, .forget = on_forget},
        .watch = {.ctx = w, .step = on_step},
    };

    w->engine = engine_new(&ports);
    assert_non_null(w->engine);
}

static void world_prepare(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->rng = rng_stream(seed, "world");
    w->now_us = USEC_PER_SEC;
    w->digests = calloc(WORLD_ROWS, sizeof *w->digests);
    assert_non_null(w->digests);
    start_engine(w);
}

static void post(struct world *w, struct event event)
{
    event.time_us = w->now_us;
    assert_int_equal(engine_post(w->engine, &event, NULL, NULL), 0);
}

/* The nodes make themselves known. */
static void announce_nodes(struct world *w)
{
    for (int i = 0; i < WORLD_NODES; i++) {
        struct event event = {.kind = EVENT_NODE_UP,
                              .node = {.devices = node_devices[i]}};

        (void)snprintf(event.node.name, sizeof event.node.name, "%s", node_names[i]);
        post(w, event);
    }
}

void world_init(struct world *w, uint64_t seed)
{
    world_prepare(w, seed);
    engine_begin(w->engine);
    announce_nodes(w);
}

void world_init_from(struct world *w, uint64_t seed, const struct journal *journal,
                     size_t n, bool from_snapshot)
{
    world_prepare(w, seed);
    assert_int_equal(journal_load(journal, w->engine, n, from_snapshot), 0);
}

void world_release(struct world *w)
{
    engine_free(w->engine);
    journal_release(&w->journal);
    free(w->digests);
}

static uint32_t some_job(struct world *w)
{
    size_t n = core_n_jobs(engine_core(w->engine));

    if (n == 0)
        return 1;
    return core_job_at(engine_core(w->engine), rng_below(&w->rng, n))->spec.id;
}

static void submit(struct world *w)
{
    int32_t min = (int32_t)rng_between(&w->rng, 1, 3);
    struct job_spec spec = {
        .level = (enum job_level)rng_below(&w->rng, JOB_LEVEL_MAX),
        .sizes = {.min = min, .max = min + (int32_t)rng_between(&w->rng, 0, 4)},
        .retries = (int32_t)rng_below(&w->rng, 2),
    };
    struct event event = {.kind = EVENT_SUBMIT, .spec = &spec, .time_us = w->now_us};

    if (core_n_jobs(engine_core(w->engine)) >= 12)
        return;
    if (spec.level == JOB_RIGID)
        spec.sizes.max = min;
    (void)snprintf(spec.name, sizeof spec.name, "j%zu", w->submits++);
    assert_int_equal(engine_post(w->engine, &event, on_answer, w), 0);
}

/* A living process ends by itself. */
static void end_some(struct world *w)
{
    for (size_t i = 0; i < w->n_procs; i++) {
        struct world_proc *proc = &w->procs[i];

        if (!proc->is_alive || rng_below(&w->rng, 3) != 0)
            continue;
        proc->is_alive = false;
        proc->cause = rng_below(&w->rng, 2) ? JOB_CAUSE_DONE : JOB_CAUSE_USER_ERROR;
        reply_exit(w, proc);
        return;
    }
}

static void report_some(struct world *w)
{
    for (size_t i = 0; i < w->n_procs; i++)
        if (w->procs[i].is_alive && rng_below(&w->rng, 2) == 0)
            post(w, (struct event){.kind = EVENT_PERF,
                                   .job = w->procs[i].job,
                                   .incarnation = w->procs[i].incarnation,
                                   .samples = rng_between(&w->rng, 0, 100000),
                                   .rate_milli = rng_between(&w->rng, 1, 9999)});
}

/* Replies arrive in any order, and some of them twice. */
static void deliver(struct world *w, bool in_order)
{
    size_t at;

    if (w->n_replies == 0)
        return;
    at = in_order ? 0 : rng_below(&w->rng, w->n_replies);
    post(w, w->replies[at]);
    if (!in_order && rng_below(&w->rng, 8) == 0)
        return;
    w->n_replies--;
    memmove(&w->replies[at], &w->replies[at + 1],
            (w->n_replies - at) * sizeof *w->replies);
}

static void run(struct world *w)
{
    assert_true(engine_run(w->engine, w->now_us) >= 0);
}

static void commit_some(struct world *w)
{
    const struct err full = {.code = E_IO, .text = "no space left"};

    if (w->journal.durable == w->journal.n)
        return;
    if (w->commits_fail && rng_below(&w->rng, 4) != 0) {
        engine_commit_failed(w->engine, &full);
        return;
    }
    w->commits_fail = rng_below(&w->rng, 10) == 0;
    journal_commit(&w->journal, w->engine, rng_below(&w->rng, 5));
}

void world_act(struct world *w)
{
    static const enum event_kind wishes[] = {EVENT_CANCEL, EVENT_PAUSE, EVENT_RESUME,
                                             EVENT_RESUME};
    uint64_t dice = rng_below(&w->rng, 20);

    w->now_us += rng_between(&w->rng, 0, 20 * USEC_PER_SEC);
    if (dice < 3)
        submit(w);
    else if (dice < 5)
        post(w, (struct event){.kind = wishes[rng_below(&w->rng, ARRAY_SIZE(wishes))],
                               .job = some_job(w)});
    else if (dice < 6)
        end_some(w);
    else if (dice < 7)
        report_some(w);
    else if (dice < 11)
        deliver(w, false);
    else if (dice < 15)
        run(w);
    else
        commit_some(w);
    if (w->n_replies > WORLD_REPLIES / 2)
        deliver(w, true);
}

void world_crash(struct world *w)
{
    engine_free(w->engine);
    journal_crash(&w->journal);
    w->n_replies = 0;
    w->crashes++;
    w->commits_fail = false;
    start_engine(w);
    assert_int_equal(
        journal_load(&w->journal, w->engine, w->journal.n, w->crashes % 2 == 0), 0);
    engine_begin(w->engine);
    post(w, (struct event){.kind = EVENT_DAEMON_START});
    announce_nodes(w);
    /* At once: the core gives up on those that are silent for a minute. */
    for (size_t i = 0; i < w->n_procs; i++)
        if (w->procs[i].is_alive)
            post(w, (struct event){.kind = EVENT_ADOPTED,
                                   .job = w->procs[i].job,
                                   .incarnation = w->procs[i].incarnation,
                                   .samples = -1});
    run(w);
}

/* Goes on until the cluster is at rest. */
static void calm_down(struct world *w)
{
    for (int i = 0; i < 20000; i++) {
        usec_t next_us = engine_run(w->engine, w->now_us);

        assert_true(next_us >= 0);
        journal_commit_all(&w->journal, w->engine);
        if (w->n_replies > 0) {
            deliver(w, true);
            continue;
        }
        next_us = engine_run(w->engine, w->now_us);
        if (core_n_jobs(engine_core(w->engine)) == 0)
            return;
        if (next_us == USEC_NEVER && w->journal.durable == w->journal.n)
            return;
        w->now_us = i64_max(w->now_us, next_us == USEC_NEVER ? 0 : next_us);
    }
    fail_msg("the world does not come to rest");
}

void world_settle(struct world *w)
{
    const struct core *core = engine_core(w->engine);

    calm_down(w);
    for (size_t i = 0; i < core_n_jobs(core); i++)
        post(w,
             (struct event){.kind = EVENT_CANCEL, .job = core_job_at(core, i)->spec.id});
    calm_down(w);
    journal_commit_all(&w->journal, w->engine);
    assert_int_equal(core_n_jobs(core), 0);
    assert_int_equal(cluster_count(core_cluster(core)).free, WORLD_DEVICES);
    for (size_t i = 0; i < w->n_procs; i++)
        if (w->procs[i].is_alive)
            fail_msg("incarnation %u of job %u lives on", w->procs[i].incarnation,
                     w->procs[i].job);
}

void world_assert_duties(const struct world *w)
{
    const struct core *core = engine_core(w->engine);
    size_t n = 0;

    for (size_t i = 0; i < core_n_jobs(core); i++)
        n += job_duty(core_job_at(core, i)).kind != DUTY_NONE;
    assert_int_equal(w->performed, n);
}
