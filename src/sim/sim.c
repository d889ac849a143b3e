/* SPDX-License-Identifier: Apache-2.0 */
/* sim.c - the loop of virtual time.
 *
 * The clock jumps from one moment to the next at which anything is due: the scenario's
 * script, the modelled cluster, the store, or the engine's own wake. At each moment all
 * of it is let happen, in that fixed order, until nothing is due any more; so one moment
 * may hold many steps, and a moment that never becomes quiet is reported as a busy loop.
 * Invariants:
 *   1. Time never decreases; the engine sees the same moment from all its ports.
 *   2. After each step core_check() and world_check() hold, or the run ends there.
 *   3. A user whose request is lost with the daemon, or refused while it cannot write,
 * asks again. */
#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/heap.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/story.h"
#include "sim/memstore.h"
#include "sim/world.h"
#include "wire/journal.h"

#define ROUNDS_MAX   10000
#define ASK_AGAIN_US USEC_PER_MIN
#define USER_ID      1000
#define DAEMON_COMES UINT64_MAX /* script entry: the daemon is back */

struct runner {
    const struct scenario *scn;
    const struct sim_options *options;
    struct sim_result *result;
    struct world *world;
    struct memstore *store;
    struct engine *engine; /* NULL while the daemon is down */
    struct story story;
    struct engine_watch_port story_port;
    struct heap script; /* id: a job, n_jobs + an action, or DAEMON_COMES */
    usec_t now_us;
    usec_t wake_us;
    int64_t quiet;        /* moments that became quiet */
    uint64_t dead_digest; /* of the core when the daemon died; 0: rows were lost */
    struct err broken;    /* code 0: nothing is */
};

/* A request that waits for its answer. */
struct request {
    struct runner *runner;
    uint64_t id; /* of the script */
};

/* The first thing that went wrong counts; rc < 0. */
static void set_broken(struct runner *r, int rc, const struct err *why)
{
    if (r->broken.code < 0)
        return;
    r->broken = *why;
    r->broken.code = rc;
}

static void break_nomem(struct runner *r)
{
    struct err err;

    set_broken(r, err_set(&err, E_NOMEM, "out of memory"), &err);
}

static void note(struct runner *r, const char *name, const char *what, const char *detail,
                 const char *reason)
{
    if (r->options->wants_story)
        story_note(&r->story, r->now_us, name, what, detail, reason);
}

static void at(struct runner *r, usec_t time_us, uint64_t id)
{
    if (heap_push(&r->script, time_us, id, NULL) < 0)
        break_nomem(r);
}

static void perform(void *ctx, const struct core *core, const struct job *job,
                    const struct duty *duty)
{
    struct runner *r = ctx;

    world_perform(r->world, r->now_us, core, job, duty);
}

static void forget(void *ctx, uint32_t job)
{
    struct runner *r = ctx;

    world_forget(r->world, job);
}

static struct sim_job *result_of(struct runner *r, uint32_t id)
{
    for (size_t i = 0; i < r->result->n_jobs; i++)
        if (r->result->jobs[i].id == id)
            return &r->result->jobs[i];
    return NULL;
}

/* Moments of the core's clock as spans since the start; 0 there is "not yet". */
static usec_t since_zero(usec_t time_us)
{
    return time_us > 0 ? time_us - SIM_ZERO_US : -1;
}

static void record_run(struct sim_job *job, const struct job_run *run)
{
    job->state = run->state;
    job->submit_us = since_zero(run->submit_us);
    job->start_us = since_zero(run->start_us);
    job->end_us = since_zero(run->end_us);
    job->active_us = run->active_us;
    job->device_us = run->device_us;
    job->samples_done = run->samples_done;
    job->samples_repeated = run->samples_repeated;
    job->resizes = run->resizes;
    memcpy(job->reason, run->reason, sizeof job->reason);
}

/* A new job of the core: which job of the scenario it is, its name tells. */
static void bind(struct runner *r, const struct job_spec *spec)
{
    int32_t index = scenario_find_job(r->scn, spec->name);

    ASSERT(index >= 0);
    r->result->jobs[index].id = spec->id;
}

static void watch_node(struct runner *r, const struct core *before,
                       const struct node *node, usec_t now_us)
{
    struct sim_result *result = r->result;

    if (!cluster_find_node(core_cluster(before), node->name)) {
        ASSERT(result->n_nodes < r->scn->n_nodes);
        result->nodes[result->n_nodes++] = (struct sim_node){
            scenario_find_node(r->scn, node->name), node->first, node->devices};
    }
    if (!r->options->wants_spans)
        return;
    if (node->state == NODE_LOST)
        spans_node_lost(&result->spans, node, now_us);
    else
        spans_node_back(&result->spans, node, now_us);
}

static void watch_change(void *ctx, const struct core *before, const struct event *event,
                         const struct change *change)
{
    struct runner *r = ctx;
    struct sim_job *job;

    if (change->kind == CHANGE_SPEC && !core_find_job(before, change->u.spec->id))
        bind(r, change->u.spec);
    if (change->kind == CHANGE_RUN && job_state_is_final(change->u.run.state)) {
        job = result_of(r, change->u.run.id);
        ASSERT(job);
        record_run(job, &change->u.run);
    }
    if (r->options->wants_story)
        r->story_port.change(r->story_port.ctx, before, event, change);
    if (change->kind == CHANGE_NODE)
        watch_node(r, before, &change->u.node, event->time_us);
}

static void record_spans(struct runner *r, const struct core *core, usec_t now_us)
{
    struct spans *s = &r->result->spans;

    for (size_t i = s->n_open; i > 0; i--)
        if (i <= s->n_open && !core_find_job(core, s->open[i - 1].job))
            spans_touch(s, core, s->open[i - 1].job, now_us);
    for (size_t i = 0; i < core_n_jobs(core); i++)
        spans_touch(s, core, core_job_at(core, i)->spec.id, now_us);
}

static void watch_step(void *ctx, const struct core *after, const struct event *event)
{
    struct runner *r = ctx;
    struct err err = {0};
    int rc;

    r->result->steps++;
    if (event->kind == EVENT_PLAN)
        r->result->plans++;
    if (r->options->wants_story)
        r->story_port.step(r->story_port.ctx, after, event);
    if (r->options->wants_spans)
        record_spans(r, after, event->time_us);
    if (r->options->checks == SIM_CHECK_NONE)
        return;
    rc = core_check(after, &err);
    if (rc == 0)
        rc = world_check(r->world, after, &err);
    if (rc < 0)
        set_broken(r, rc, &err);
}

static struct engine *new_engine(struct runner *r)
{
    const struct engine_ports ports = {
        .store = memstore_port(r->store),
        .backend = {.ctx = r, .perform = perform, .forget = forget},
        .watch = {.ctx = r, .change = watch_change, .step = watch_step},
    };
    struct engine *engine = engine_new(&ports);

    if (!engine)
        break_nomem(r);
    return engine;
}

static const char *request_name(const struct runner *r, uint64_t id)
{
    if (id < r->scn->n_jobs)
        return r->scn->jobs[id].spec.name;
    if (r->scn->actions[id - r->scn->n_jobs].kind == SCN_CONFIG)
        return "*";
    return r->scn->jobs[r->scn->actions[id - r->scn->n_jobs].job].spec.name;
}

static const char *request_word(const struct runner *r, uint64_t id)
{
    static const char *const words[SCN_KIND_MAX] = {
        [SCN_CANCEL] = "cancel refused",   [SCN_PAUSE] = "pause refused",
        [SCN_RESUME] = "resume refused",   [SCN_UPDATE] = "update refused",
        [SCN_CONFIG] = "settings refused",
    };

    return id < r->scn->n_jobs ? "refused"
                               : words[r->scn->actions[id - r->scn->n_jobs].kind];
}

static void on_answer(void *arg, int rc, const struct err *err, uint32_t job)
{
    struct request *request = arg;
    struct runner *r = request->runner;
    char reason[ERR_FIELD_MAX + ERR_TEXT_MAX];

    (void)job;
    if (rc < 0) {
        (void)snprintf(reason, sizeof reason, "%s%s%s", err ? err->field : "",
                       err && err->field[0] ? " " : "", err ? err->text : "");
        note(r, request_name(r, request->id), request_word(r, request->id), "", reason);
    }
    if (rc == E_AGAIN)
        at(r, r->now_us + ASK_AGAIN_US, request->id);
    else if (rc < 0 && request->id < r->scn->n_jobs)
        r->result->n_refused++;
    mem_free(request);
}

static void post_request(struct runner *r, const struct event *event, uint64_t id)
{
    struct request *request = mem_new(1, sizeof *request);

    if (!request) {
        break_nomem(r);
        return;
    }
    *request = (struct request){r, id};
    if (engine_post(r->engine, event, on_answer, request) < 0) {
        mem_free(request);
        break_nomem(r);
    }
}

static void submit(struct runner *r, uint64_t index)
{
    const struct scn_job *job = &r->scn->jobs[index];
    struct job_spec spec = job->spec;
    const struct event event = {
        .kind = EVENT_SUBMIT,
        .time_us = r->now_us,
        .spec = &spec,
        .model = job->is_known ? &job->truth : NULL,
    };

    if (r->result->jobs[index].id != 0)
        return; /* it was accepted, only the answer got lost */
    spec.uid = spec.gid = USER_ID;
    spec.samples_total = job->is_endless ? 0 : world_samples(job);
    post_request(r, &event, index);
}

static void ask(struct runner *r, const struct scn_action *action, uint64_t id)
{
    static const enum event_kind kinds[] = {
        [SCN_CANCEL] = EVENT_CANCEL, [SCN_PAUSE] = EVENT_PAUSE,
        [SCN_RESUME] = EVENT_RESUME, [SCN_UPDATE] = EVENT_UPDATE,
        [SCN_CONFIG] = EVENT_CONFIG,
    };
    struct event event = {.kind = kinds[action->kind], .time_us = r->now_us};
    struct job_spec spec;

    if (action->kind == SCN_CONFIG)
        event.config = *action->config;
    else
        event.job = r->result->jobs[action->job].id;
    if (action->kind == SCN_UPDATE) {
        const struct scn_job *job = &r->scn->jobs[action->job];

        spec = *action->spec;
        spec.uid = spec.gid = USER_ID;
        spec.samples_total = job->is_endless ? 0 : world_samples(job);
        event.spec = &spec;
    }
    post_request(r, &event, id);
}

static uint64_t digest_now(struct runner *r)
{
    uint64_t digest = 0;

    if (wire_digest(engine_core(r->engine), &digest) < 0)
        break_nomem(r);
    return digest;
}

static void daemon_dies(struct runner *r, usec_t back_us)
{
    r->dead_digest = memstore_is_settled(r->store) ? digest_now(r) : 0;
    engine_free(r->engine);
    r->engine = NULL;
    r->wake_us = USEC_NEVER;
    memstore_crash(r->store);
    at(r, back_us, DAEMON_COMES);
}

/* A new engine with the state that the store has. */
static void rebuild(struct runner *r)
{
    struct err err = {0};
    int rc;

    r->engine = new_engine(r);
    if (!r->engine)
        return;
    rc = memstore_load(r->store, r->engine, &err);
    if (rc < 0) {
        set_broken(r, rc, &err);
        engine_free(r->engine);
        r->engine = NULL;
        return;
    }
    if (r->dead_digest != 0 && digest_now(r) != r->dead_digest) {
        rc = err_set(&err, E_CORRUPT, "the state changed over a restart of the daemon");
        set_broken(r, rc, &err);
    }
    engine_begin(r->engine);
}

static void daemon_comes(struct runner *r)
{
    const struct event start = {.kind = EVENT_DAEMON_START, .time_us = r->now_us};

    rebuild(r);
    if (!r->engine)
        return;
    if (engine_post(r->engine, &start, NULL, NULL) < 0)
        break_nomem(r);
    world_reconnect(r->world, r->now_us);
}

static void strike(struct runner *r, const struct scn_action *action, uint64_t id)
{
    bool has_effect = true;

    switch (action->kind) {
    case SCN_CANCEL:
    case SCN_PAUSE:
    case SCN_RESUME:
    case SCN_UPDATE:
    case SCN_CONFIG:
        ask(r, action, id);
        break;
    case SCN_NODE_DOWN:
        has_effect = world_node_down(r->world, r->now_us, action->node);
        break;
    case SCN_NODE_UP:
        has_effect = world_node_up(r->world, r->now_us, action->node);
        break;
    case SCN_DEVICE:
        has_effect = world_device(r->world, r->now_us, action);
        break;
    case SCN_CRASH:
        has_effect = world_crash(r->world, r->now_us, action->job, action->exit_code);
        break;
    case SCN_DAEMON:
        note(r, "*", "daemon killed", "", "");
        daemon_dies(r, r->now_us + action->by_us);
        break;
    case SCN_STORE_FAILS:
        note(r, "*", "store fails", "", "");
        memstore_fail(r->store);
        break;
    case SCN_STORE_WORKS:
        note(r, "*", "store works", "", "");
        memstore_mend(r->store);
        break;
    case SCN_SAVE_FAILS:
    case SCN_SAVE_HANGS:
    case SCN_START_FAILS:
    case SCN_LOST:
    case SCN_LATE:
    case SCN_TWICE:
        world_arm(r->world, action);
        break;
    case SCN_KIND_MAX:
        break;
    }
    if (!has_effect)
        note(r, "*", "fault", "", "found nothing to strike");
}

/* Requests wait while the daemon is down; faults of the world do not. */
static bool must_wait(const struct runner *r, uint64_t id)
{
    if (r->engine || id == DAEMON_COMES)
        return false;
    return id < r->scn->n_jobs ||
           r->scn->actions[id - r->scn->n_jobs].kind <= SCN_CONFIG ||
           r->scn->actions[id - r->scn->n_jobs].kind == SCN_DAEMON;
}

static void run_script(struct runner *r)
{
    const struct heap_item *first = heap_first(&r->script);
    struct heap_item item;

    while (first && first->key <= r->now_us && heap_pop(&r->script, &item)) {
        if (item.id == DAEMON_COMES)
            daemon_comes(r);
        else if (must_wait(r, item.id))
            at(r, r->now_us + USEC_PER_SEC, item.id);
        else if (item.id < r->scn->n_jobs)
            submit(r, item.id);
        else
            strike(r, &r->scn->actions[item.id - r->scn->n_jobs], item.id);
        first = heap_first(&r->script);
    }
}

static usec_t next_moment(const struct runner *r)
{
    const struct heap_item *script = heap_first(&r->script);
    usec_t next = i64_min(world_next(r->world), script ? script->key : USEC_NEVER);

    if (r->engine)
        next = i64_min(next, i64_min(memstore_next(r->store), r->wake_us));
    return next;
}

static void run_world(struct runner *r)
{
    struct event event;

    while (world_take(r->world, r->now_us, &event))
        if (r->engine && engine_post(r->engine, &event, NULL, NULL) < 0)
            break_nomem(r);
}

static void run_moment(struct runner *r)
{
    struct err err;
    int rounds = 0;

    memstore_set_now(r->store, r->now_us);
    do {
        run_world(r);
        run_script(r);
        if (r->engine)
            r->wake_us = engine_run(r->engine, r->now_us);
        if (r->engine && memstore_run(r->store, r->engine))
            r->wake_us = i64_min(r->wake_us, r->now_us);
        if (r->wake_us < 0)
            break_nomem(r);
    } while (r->broken.code == 0 && next_moment(r) <= r->now_us && ++rounds < ROUNDS_MAX);
    if (rounds == ROUNDS_MAX) {
        set_broken(r,
                   err_set(&err, E_CORRUPT, "time stands still: %d rounds at one moment",
                           ROUNDS_MAX),
                   &err);
    }
}

/* Nothing more can come but time itself. */
static bool is_over(const struct runner *r)
{
    return r->engine && core_n_jobs(engine_core(r->engine)) == 0 &&
           heap_first(&r->script) == NULL && memstore_is_settled(r->store);
}

static void loop(struct runner *r)
{
    usec_t next = next_moment(r);

    while (r->broken.code == 0 && next <= SIM_ZERO_US + r->scn->until_us) {
        r->now_us = next;
        run_moment(r);
        if (is_over(r))
            break;
        if (r->options->rebuild_every > 0 && r->engine && memstore_is_settled(r->store) &&
            ++r->quiet % r->options->rebuild_every == 0) {
            r->dead_digest = digest_now(r);
            engine_free(r->engine);
            rebuild(r);
            run_moment(r);
        }
        next = next_moment(r);
    }
    if (next > SIM_ZERO_US + r->scn->until_us && next != USEC_NEVER && !is_over(r))
        r->now_us = SIM_ZERO_US + r->scn->until_us;
}

static bool wants_rows(const struct runner *r)
{
    if (r->options->rebuild_every > 0)
        return true;
    for (size_t i = 0; i < r->scn->n_actions; i++)
        if (r->scn->actions[i].kind == SCN_DAEMON)
            return true;
    return false;
}

static int name_width(const struct scenario *scn)
{
    size_t width = 0;

    for (size_t i = 0; i < scn->n_jobs; i++)
        width = strlen(scn->jobs[i].spec.name) > width ? strlen(scn->jobs[i].spec.name)
                                                       : width;
    for (size_t i = 0; i < scn->n_nodes; i++)
        width = strlen(scn->nodes[i].name) > width ? strlen(scn->nodes[i].name) : width;
    return (int)width;
}

static int prepare(struct runner *r)
{
    const struct event settings = {
        .kind = EVENT_CONFIG, .time_us = r->now_us, .config = r->scn->config};
    struct sim_result *result = r->result;

    heap_init(&r->script);
    story_init(&r->story, &result->story, SIM_ZERO_US, name_width(r->scn));
    r->story_port = story_watch(&r->story);
    r->world = world_new(r->scn);
    r->store = memstore_new(r->scn->delays.commit_us,
                            wants_rows(r) ? MEMSTORE_KEEP : MEMSTORE_FORGET);
    result->jobs = mem_new(r->scn->n_jobs, sizeof *result->jobs);
    result->nodes = mem_new(r->scn->n_nodes, sizeof *result->nodes);
    if (!r->world || !r->store || !result->jobs || !result->nodes)
        return E_NOMEM;
    result->n_jobs = r->scn->n_jobs;
    for (size_t i = 0; i < r->scn->n_jobs; i++) {
        result->jobs[i] = (struct sim_job){
            .index = (int32_t)i, .submit_us = -1, .start_us = -1, .end_us = -1};
        at(r, SIM_ZERO_US + r->scn->jobs[i].at_us, i);
    }
    for (size_t i = 0; i < r->scn->n_actions; i++)
        at(r, SIM_ZERO_US + r->scn->actions[i].at_us, r->scn->n_jobs + i);
    r->engine = new_engine(r);
    if (!r->engine)
        return E_NOMEM;
    memstore_set_now(r->store, r->now_us);
    engine_begin(r->engine);
    return engine_post(r->engine, &settings, NULL, NULL);
}

static int finish(struct runner *r)
{
    struct sim_result *result = r->result;
    const struct core *core = r->engine ? engine_core(r->engine) : NULL;
    struct digest digest;

    result->end_us = r->now_us - SIM_ZERO_US;
    for (size_t i = 0; core && i < core_n_jobs(core); i++) {
        struct sim_job *job = result_of(r, core_job_at(core, i)->spec.id);

        ASSERT(job);
        record_run(job, &core_job_at(core, i)->run);
        result->n_unfinished++;
    }
    digest_init(&digest);
    digest_add_u64(&digest, r->engine ? digest_now(r) : 0);
    digest_add(&digest, result->story.text, result->story.len);
    result->digest = digest.value;
    if (spans_close(&result->spans, r->now_us) < 0 || buf_error(&result->story) < 0)
        break_nomem(r);
    return r->broken.code;
}

int sim_run(const struct scenario *scn, const struct sim_options *options,
            struct sim_result *result, struct err *err)
{
    struct runner r = {.scn = scn,
                       .options = options,
                       .result = result,
                       .now_us = SIM_ZERO_US,
                       .wake_us = SIM_ZERO_US};
    char clock[32];
    int rc = prepare(&r);

    if (rc == 0) {
        loop(&r);
        rc = finish(&r);
    }
    engine_free(r.engine);
    memstore_free(r.store);
    world_free(r.world);
    story_release(&r.story);
    heap_release(&r.script);
    if (rc == E_CORRUPT) {
        (void)snprintf(clock, sizeof clock, "%.6f s",
                       (double)(r.now_us - SIM_ZERO_US) / 1e6);
        return err_set(err, rc, "at %s: %s%s%s", clock, r.broken.field,
                       r.broken.field[0] ? ": " : "", r.broken.text);
    }
    return rc < 0 ? err_set(err, rc, "out of memory") : 0;
}
