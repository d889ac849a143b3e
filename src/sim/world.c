/* SPDX-License-Identifier: Apache-2.0 */
/* world.c - books, timers and faults of the modelled cluster.
 *
 * Everything that will happen stands in one heap, ordered by time and then by the order
 * in which it was caused; so a run is a function of scenario and duties. A timer holds
 * the serial of the record that it is meant for and is void when that has moved on. The
 * books (which job's process lives on which device) are kept apart from the core's, under
 * the nodes' names, so that a mistake in the core's numbering cannot hide itself.
 *
 * Left out: a node that is cut off while its processes live on; clocks that differ;
 * slow nodes. */
#include "sim/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "sim/world_job.h"

void world_push(struct world *w, usec_t at_us, const struct wtimer *timer)
{
    struct wtimer *copy = mem_new(1, sizeof *copy);

    if (!copy || heap_push(&w->timers, at_us, 0, copy) < 0) {
        mem_free(copy);
        w->error = E_NOMEM;
        return;
    }
    *copy = *timer;
}

void world_broken(struct world *w, const char *fmt, ...)
{
    va_list args;

    if (w->broken[0])
        return;
    va_start(args, fmt);
    (void)vsnprintf(w->broken, sizeof w->broken, fmt, args);
    va_end(args);
}

int32_t wjob_index(const struct world *w, const struct wjob *j)
{
    return (int32_t)(j - w->jobs);
}

/* Heap sort by name: the C library's qsort is not ours to trust with order. */
static void sift(const struct scenario *scn, int32_t *order, size_t root, size_t n)
{
    for (;;) {
        size_t child = 2 * root + 1;
        int32_t moved = order[root];

        if (child >= n)
            return;
        if (child + 1 < n && strcmp(scn->jobs[order[child]].spec.name,
                                    scn->jobs[order[child + 1]].spec.name) < 0)
            child++;
        if (strcmp(scn->jobs[moved].spec.name, scn->jobs[order[child]].spec.name) >= 0)
            return;
        order[root] = order[child];
        order[child] = moved;
        root = child;
    }
}

static void sort_names(const struct scenario *scn, int32_t *order)
{
    for (size_t i = 0; i < scn->n_jobs; i++)
        order[i] = (int32_t)i;
    for (size_t i = scn->n_jobs / 2; i > 0; i--)
        sift(scn, order, i - 1, scn->n_jobs);
    for (size_t n = scn->n_jobs; n > 1; n--) {
        int32_t last = order[n - 1];

        order[n - 1] = order[0];
        order[0] = last;
        sift(scn, order, 0, n - 1);
    }
}

static int32_t find_by_name(const struct world *w, const char *name)
{
    size_t low = 0;
    size_t high = w->scn->n_jobs;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int32_t job = w->by_name[middle];
        int order = strcmp(w->scn->jobs[job].spec.name, name);

        if (order == 0)
            return job;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static bool fill_nodes(struct world *w)
{
    for (size_t i = 0; i < w->scn->n_nodes; i++) {
        const struct scn_node *node = &w->scn->nodes[i];
        const struct wtimer up = {.kind = T_NODE_UP, .node = (int32_t)i};

        w->nodes[i].owners = mem_new((size_t)node->devices, sizeof(uint32_t));
        w->nodes[i].marks = mem_new((size_t)node->devices, sizeof(struct wmark));
        if (!w->nodes[i].owners || !w->nodes[i].marks)
            return false;
        world_push(w, SIM_ZERO_US + node->at_us, &up);
    }
    return w->error == 0;
}

struct world *world_new(const struct scenario *scn)
{
    struct world *w = mem_new(1, sizeof *w);

    if (!w)
        return NULL;
    w->scn = scn;
    heap_init(&w->timers);
    w->jobs = mem_new(scn->n_jobs, sizeof *w->jobs);
    w->nodes = mem_new(scn->n_nodes, sizeof *w->nodes);
    w->by_name = mem_new(scn->n_jobs, sizeof *w->by_name);
    if (!w->jobs || !w->nodes || !w->by_name || !fill_nodes(w)) {
        world_free(w);
        return NULL;
    }
    sort_names(scn, w->by_name);
    for (size_t i = 0; i < scn->n_jobs; i++)
        w->jobs[i].total = world_samples(&scn->jobs[i]);
    return w;
}

void world_free(struct world *w)
{
    struct heap_item item;

    if (!w)
        return;
    while (heap_pop(&w->timers, &item))
        mem_free(item.data);
    heap_release(&w->timers);
    for (size_t i = 0; w->jobs && i < w->scn->n_jobs; i++)
        mem_free(w->jobs[i].procs);
    for (size_t i = 0; w->nodes && i < w->scn->n_nodes; i++) {
        mem_free(w->nodes[i].owners);
        mem_free(w->nodes[i].marks);
    }
    mem_free(w->jobs);
    mem_free(w->nodes);
    mem_free(w->by_name);
    mem_free(w->by_id);
    mem_free(w);
}

usec_t world_next(const struct world *w)
{
    const struct heap_item *first = heap_first(&w->timers);

    return first ? first->key : USEC_NEVER;
}

static void node_event(const struct world *w, enum event_kind kind, int32_t node,
                       struct event *ret)
{
    const struct scn_node *n = &w->scn->nodes[node];

    ret->kind = kind;
    memcpy(ret->node.name, n->name, sizeof ret->node.name);
    memcpy(ret->node.device_type, n->device_type, sizeof ret->node.device_type);
    ret->node.devices = n->devices;
}

static void device_event(const struct world *w, const struct wtimer *timer,
                         struct event *ret)
{
    static const char *const who[DEVICE_STATE_MAX] = {
        "", "ada, pid 4711, 10240 MiB", "pid 4712, 700 MiB of a job that has ended"};

    node_event(w, EVENT_DEVICE, timer->node, ret);
    ret->device = timer->device;
    ret->device_state = w->nodes[timer->node].marks[timer->device].state;
    (void)snprintf(ret->text, sizeof ret->text, "%s", who[ret->device_state]);
}

/* How the devices are that were not always clean. */
static void report_devices(struct world *w, usec_t now_us, int32_t node)
{
    struct wtimer timer = {.kind = T_DEVICE, .node = node};

    for (; timer.device < w->scn->nodes[node].devices; timer.device++)
        if (w->nodes[node].marks[timer.device].is_touched)
            world_push(w, now_us, &timer);
}

static void deliver(struct world *w, const struct wtimer *timer, struct event *ret)
{
    struct wjob *j = &w->jobs[timer->job];
    const struct wanswer *a = &timer->answer;

    ret->kind = a->kind;
    ret->job = j->id;
    ret->incarnation = a->incarnation;
    ret->cause = a->cause;
    ret->exit_code = a->exit_code;
    ret->samples = a->samples;
    ret->rate_milli = a->rate_milli;
    ret->warm_up_us = a->warm_up_us;
    if (a->text)
        (void)snprintf(ret->text, sizeof ret->text, "%s", a->text);
    if (a->kind == EVENT_EXIT)
        memcpy(ret->node.name, w->scn->nodes[a->proc_node].name, sizeof ret->node.name);
    if (a->incarnation != j->incarnation || a->which >= SCN_ANSWER_MAX)
        return;
    j->pending[a->which]--;
    for (int32_t i = 0; a->kind == EVENT_EXIT && i < j->n_procs; i++)
        if (j->procs[i].node == a->proc_node)
            j->procs[i].is_pending = false;
}

/* A timer of a job that changes its state; answers come as timers of their own. */
static void job_timer(struct world *w, const struct wtimer *timer, usec_t now_us)
{
    static void (*const handlers[])(struct world *, struct wjob *, usec_t) = {
        [T_STARTED] = wjob_started, [T_FINISH] = wjob_finish, [T_SAVED] = wjob_saved,
        [T_EXIT] = wjob_exit,       [T_PERF] = wjob_perf,
    };
    struct wjob *j = &w->jobs[timer->job];

    if (timer->serial == j->serial)
        handlers[timer->kind](w, j, now_us);
}

/* True when the timer gave an event. */
static bool fire(struct world *w, const struct wtimer *timer, usec_t at_us,
                 struct event *ret)
{
    struct wnode *node = &w->nodes[timer->node];

    switch (timer->kind) {
    case T_ANSWER:
        deliver(w, timer, ret);
        return true;
    case T_NODE_LOST:
        if (timer->serial != node->serial)
            return false;
        node->is_reported_lost = true;
        node_event(w, EVENT_NODE_LOST, timer->node, ret);
        return true;
    case T_NODE_UP:
        if (timer->serial != node->serial || node->is_down)
            return false;
        node->is_reported_lost = false;
        node_event(w, EVENT_NODE_UP, timer->node, ret);
        report_devices(w, at_us, timer->node);
        return true;
    case T_DEVICE:
        device_event(w, timer, ret);
        return true;
    case T_STARTED:
    case T_FINISH:
    case T_SAVED:
    case T_EXIT:
    case T_PERF:
        break;
    }
    job_timer(w, timer, at_us);
    return false;
}

bool world_take(struct world *w, usec_t now_us, struct event *ret)
{
    struct heap_item item;
    bool has_event = false;

    while (!has_event && world_next(w) <= now_us && heap_pop(&w->timers, &item)) {
        struct wtimer *timer = item.data;

        memset(ret, 0, sizeof *ret);
        has_event = fire(w, timer, item.key, ret);
        ret->time_us = now_us;
        mem_free(timer);
    }
    return has_event;
}

/* The record behind a job of the core; NULL when out of memory. */
static struct wjob *job_of(struct world *w, const struct job *job)
{
    uint32_t id = job->spec.id;
    void *p = w->by_id;
    int32_t index;

    if (id < w->n_ids && w->by_id[id] > 0)
        return &w->jobs[w->by_id[id] - 1];
    if (mem_reserve(&p, &w->cap_ids, (size_t)id + 1, sizeof *w->by_id) < 0) {
        w->error = E_NOMEM;
        return NULL;
    }
    w->by_id = p;
    for (; w->n_ids <= id; w->n_ids++)
        w->by_id[w->n_ids] = 0;
    index = find_by_name(w, job->spec.name);
    ASSERT(index >= 0);
    w->by_id[id] = (uint32_t)index + 1;
    w->jobs[index].id = id;
    return &w->jobs[index];
}

/* A stop for an incarnation whose start never came through: it has ended everywhere. */
static void stop_unknown(struct world *w, struct wjob *j, usec_t now_us,
                         const struct core *core, const struct duty *duty)
{
    const struct cluster *c = core_cluster(core);

    for (int32_t d = 0; d < c->n_devices; d++) {
        const struct node *node = &c->nodes[c->devices[d].node];
        struct wtimer timer = {.kind = T_ANSWER, .job = wjob_index(w, j)};

        if (c->devices[d].job != j->id || !(c->devices[d].flags & HOLD_NOW))
            continue;
        timer.answer = (struct wanswer){
            .kind = EVENT_EXIT,
            .which = SCN_ANSWER_MAX,
            .incarnation = duty->incarnation,
            .proc_node = scenario_find_node(w->scn, node->name),
            .cause = JOB_CAUSE_STOPPED,
            .samples = j->saved,
        };
        world_push(w, now_us, &timer);
    }
}

void world_perform(struct world *w, usec_t now_us, const struct core *core,
                   const struct job *job, const struct duty *duty)
{
    struct wjob *j = job_of(w, job);

    if (!j)
        return;
    switch (duty->kind) {
    case DUTY_START:
        wjob_begin(w, j, now_us, core, duty);
        break;
    case DUTY_STOP:
        if (duty->incarnation > j->incarnation)
            stop_unknown(w, j, now_us, core, duty);
        else if (duty->incarnation == j->incarnation)
            wjob_stop(w, j, now_us, duty->grace_us);
        break;
    case DUTY_SAVE:
        if (duty->incarnation == j->incarnation)
            wjob_save(w, j, now_us, duty->grace_us);
        break;
    case DUTY_GO_ON:
        if (duty->incarnation == j->incarnation)
            wjob_go_on(w, j, now_us);
        break;
    case DUTY_NONE:
    case DUTY_KIND_MAX:
        break;
    }
}

void world_forget(struct world *w, uint32_t job)
{
    const struct wjob *j;

    if (job >= w->n_ids || w->by_id[job] == 0)
        return;
    j = &w->jobs[w->by_id[job] - 1];
    for (int32_t i = 0; i < j->n_procs; i++)
        if (j->procs[i].is_alive)
            world_broken(w, "job %u is forgotten while it runs on %s", job,
                         w->scn->nodes[j->procs[i].node].name);
}

bool world_node_down(struct world *w, usec_t now_us, int32_t node)
{
    struct wnode *n = &w->nodes[node];
    const struct wtimer lost = {
        .kind = T_NODE_LOST, .node = node, .serial = n->serial + 1};

    if (n->is_down)
        return false;
    n->is_down = true;
    n->serial++;
    for (int32_t d = 0; d < w->scn->nodes[node].devices; d++)
        if (n->owners[d] > 0)
            wjob_lose_node(w, &w->jobs[w->by_id[n->owners[d]] - 1], now_us, node);
    world_push(w, now_us + w->scn->delays.detect_us, &lost);
    return true;
}

bool world_node_up(struct world *w, usec_t now_us, int32_t node)
{
    struct wnode *n = &w->nodes[node];
    const struct wtimer up = {.kind = T_NODE_UP, .node = node, .serial = n->serial + 1};

    if (!n->is_down)
        return false;
    n->is_down = false;
    n->serial++;
    for (size_t i = 0; !n->is_reported_lost && i < w->scn->n_jobs; i++)
        wjob_report_vanished(w, &w->jobs[i], now_us, node);
    world_push(w, now_us, &up);
    return true;
}

bool world_device(struct world *w, usec_t now_us, const struct scn_action *action)
{
    struct wmark *mark = &w->nodes[action->node].marks[action->device];
    const struct wtimer timer = {
        .kind = T_DEVICE, .node = action->node, .device = action->device};

    if (mark->state == action->device_state)
        return false;
    *mark = (struct wmark){.state = action->device_state, .is_touched = true};
    world_push(w, now_us, &timer);
    return true;
}

bool world_crash(struct world *w, usec_t now_us, int32_t job, int32_t exit_code)
{
    return wjob_crash(w, &w->jobs[job], now_us, exit_code);
}

void world_arm(struct world *w, const struct scn_action *action)
{
    struct wjob *j = &w->jobs[action->job];

    j->save_fails |= action->kind == SCN_SAVE_FAILS;
    j->save_hangs |= action->kind == SCN_SAVE_HANGS;
    j->start_fails |= action->kind == SCN_START_FAILS;
    j->lose[action->answer] |= action->kind == SCN_LOST;
    j->twice[action->answer] |= action->kind == SCN_TWICE;
    if (action->kind == SCN_LATE)
        j->late_us[action->answer] = action->by_us;
}

void world_reconnect(struct world *w, usec_t now_us)
{
    for (size_t i = 0; i < w->scn->n_nodes; i++) {
        struct wtimer timer = {.kind = w->nodes[i].is_down ? T_NODE_LOST : T_NODE_UP,
                               .node = (int32_t)i,
                               .serial = w->nodes[i].serial};

        if (w->scn->nodes[i].at_us + SIM_ZERO_US > now_us)
            continue;
        world_push(w, now_us, &timer);
        report_devices(w, now_us, (int32_t)i);
    }
    for (size_t i = 0; i < w->scn->n_jobs; i++)
        wjob_report(w, &w->jobs[i], now_us);
}

/* The core's word on device `slot` of the node; NULL when it does not know the node. */
static const struct device *device_of(const struct world *w, const struct core *core,
                                      size_t node, int32_t slot)
{
    const struct cluster *c = core_cluster(core);
    const struct node *n = cluster_find_node(c, w->scn->nodes[node].name);

    return n ? &c->devices[n->first + slot] : NULL;
}

int world_check(const struct world *w, const struct core *core, struct err *err)
{
    if (w->error < 0)
        return err_set(err, w->error, "out of memory in the modelled cluster");
    if (w->broken[0])
        return err_set(err, E_CORRUPT, "%s", w->broken);
    for (size_t i = 0; i < w->scn->n_nodes; i++) {
        for (int32_t s = 0; s < w->scn->nodes[i].devices; s++) {
            uint32_t owner = w->nodes[i].owners[s];
            const struct device *d = owner ? device_of(w, core, i, s) : NULL;

            if (d && (d->job != owner || !(d->flags & HOLD_NOW)))
                return err_set(err, E_CORRUPT,
                               "job %u lives on device %d of %s, which the core holds "
                               "for job %u",
                               owner, s, w->scn->nodes[i].name, d->job);
        }
    }
    return 0;
}
