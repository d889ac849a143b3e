/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - see devices.h.
 *
 * What stands on a device is judged by its processes first: those of the job that holds
 * it belong there, those of another job of ours are what it has left (stuck), all others
 * are somebody else's (foreign). A process that we cannot see, because it has just ended
 * or lives in another namespace, is taken for the holder's. Memory that no process
 * accounts for counts only while nobody holds the device, above a limit that allows for
 * what drivers and desktops keep.
 *
 * Invariants:
 *   1. A mark is posted before the event that would let the core give the device out: at
 *      an end before EVENT_EXIT, at the start of the daemon before its first plan.
 *   2. It is posted when the state or the process behind it changes, not when the memory
 *      grows: every post is a row in the journal.
 *   3. `posted` is what the core says once it has taken all that was posted; a post that
 *      fails is made again at the next look.
 * Not here: what a mark means (core/cluster.h). */
#include "backend/local/devices.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend/local/local_state.h"
#include "backend/local/owner.h"
#include "base/mem.h"
#include "base/text.h"

#define MIB 1048576

/* What one look has seen. */
struct sight {
    enum device_state state;
    int32_t pid; /* the process behind it; 0: none is known */
    char who[DEVICE_WHO_BYTES];
};

struct slot {
    struct sight posted;
    usec_t seen_us; /* when it was not clean last */
};

struct devices {
    struct local *local;
    struct local_gpus gpus;
    struct slot *slots; /* one a device */
    struct loop_timer *timer;
};

/* The device of the core; NULL before the node is known there. */
static const struct device *device_of(const struct devices *d, int32_t index)
{
    const struct cluster *c = core_cluster(engine_core(d->local->engine));
    const struct node *node = cluster_find_node(c, d->local->ordering.node);

    return node && index < node->devices ? &c->devices[node->first + index] : NULL;
}

static uint32_t holder_of(const struct devices *d, int32_t index)
{
    const struct device *device = device_of(d, index);

    return device ? device->job : 0;
}

static void describe(struct sight *s, const struct nvml_process *process,
                     const struct owner *owner)
{
    char user[OWNER_NAME_BYTES] = "";
    char memory[32] = "";

    if (process->bytes >= 0)
        (void)snprintf(memory, sizeof(memory), ", %" PRId64 " MiB", process->bytes / MIB);
    if (owner->is_known && owner->job == 0)
        owner_name(owner->uid, user);
    if (owner->job != 0)
        (void)snprintf(s->who, sizeof(s->who), "job %u, pid %d%s", owner->job,
                       process->pid, memory);
    else
        (void)snprintf(s->who, sizeof(s->who), "%s%spid %d%s", user, user[0] ? ", " : "",
                       process->pid, memory);
}

/* Of several processes a stranger's is told before one of ours, and then the oldest, so
 * that the answer does not depend on the order in which they are listed. */
static bool is_plainer(enum device_state state, int32_t pid, const struct sight *s)
{
    if (s->state != state)
        return s->state != DEVICE_FOREIGN;
    return pid < s->pid;
}

/* `holder` may use the device; 0: nobody may. */
static void judge_processes(const struct devices *d, int32_t index,
                            const struct nvml_use *use, uint32_t holder, struct sight *s)
{
    const struct sight *posted = &d->slots[index].posted;

    for (int32_t i = 0; i < use->n_processes; i++) {
        enum device_state state;
        struct owner owner;

        owner_find(use->processes[i].pid, d->local->ordering.state_dir,
                   d->local->ordering.run_dir, &owner);
        if (holder != 0 && (owner.job == holder || !owner.is_known))
            continue;
        state = owner.job != 0 ? DEVICE_STUCK : DEVICE_FOREIGN;
        if (!is_plainer(state, use->processes[i].pid, s))
            continue;
        s->state = state;
        s->pid = use->processes[i].pid;
        if (posted->state == state && posted->pid == s->pid)
            memcpy(s->who, posted->who, sizeof(s->who)); /* nobody need be asked again */
        else
            describe(s, &use->processes[i], &owner);
    }
}

/* `memory` is the state of a device on which nothing but memory is found. */
static struct sight look(const struct devices *d, int32_t index, uint32_t holder,
                         enum device_state memory)
{
    struct nvml_use use;
    struct sight s = {0};

    if (!nvml_look(d->gpus.nvml, index, &use)) {
        s.state = DEVICE_STUCK;
        (void)snprintf(s.who, sizeof(s.who), "it does not answer");
        return s;
    }
    judge_processes(d, index, &use, holder, &s);
    if (s.state == DEVICE_CLEAN && holder == 0 && use.used_bytes > d->gpus.mem_bytes) {
        s.state = memory;
        (void)snprintf(s.who, sizeof(s.who), "%" PRId64 " MiB of no known process",
                       use.used_bytes / MIB);
    }
    return s;
}

static void post(struct devices *d, int32_t index, const struct sight *s)
{
    struct slot *slot = &d->slots[index];
    struct event event = {
        .kind = EVENT_DEVICE, .device = index, .device_state = s->state};

    if (slot->posted.state == s->state && slot->posted.pid == s->pid)
        return;
    (void)snprintf(event.node.name, sizeof(event.node.name), "%s",
                   d->local->ordering.node);
    (void)snprintf(event.text, sizeof(event.text), "%s", s->who);
    if (local_post(d->local, &event, NULL, NULL) < 0)
        return;
    local_log(d->local, s->state == DEVICE_CLEAN ? LOCAL_INFO : LOCAL_WARNING,
              "gpu %d is %s%s%s", index, device_state_name(s->state),
              s->who[0] ? ": " : "", s->who);
    slot->posted = *s;
}

/* Takes note of what was seen. A device that looks clean stays marked for a while. */
static void note(struct devices *d, int32_t index, const struct sight *s)
{
    struct slot *slot = &d->slots[index];
    usec_t now_us = clock_now(d->local->clock);

    if (s->state != DEVICE_CLEAN)
        slot->seen_us = now_us;
    else if (now_us - slot->seen_us < d->gpus.clean_us)
        return;
    post(d, index, s);
}

/* What a look says about memory alone: of a device that is stuck it is still that. */
static enum device_state memory_state(const struct devices *d, int32_t index)
{
    return d->slots[index].posted.state == DEVICE_STUCK ? DEVICE_STUCK : DEVICE_FOREIGN;
}

static void look_at_all(struct devices *d)
{
    for (int32_t i = 0; i < d->gpus.n; i++) {
        struct sight s = look(d, i, holder_of(d, i), memory_state(d, i));

        note(d, i, &s);
    }
}

static void on_timer(void *arg)
{
    struct devices *d = arg;

    look_at_all(d);
    loop_timer_set(d->timer, d->gpus.patrol_us);
}

/* Marks that an earlier daemon has left are ours to take away. */
static void take_over(struct devices *d, int32_t index)
{
    const struct device *device = device_of(d, index);
    struct slot *slot = &d->slots[index];

    if (!device || device->state == DEVICE_CLEAN)
        return;
    slot->posted = (struct sight){.state = device->state, .pid = -1};
    slot->seen_us = clock_now(d->local->clock);
}

void devices_begin(struct devices *d)
{
    const struct cluster *c = core_cluster(engine_core(d->local->engine));
    const struct node *node = cluster_find_node(c, d->local->ordering.node);

    for (int32_t i = 0; i < d->gpus.n; i++)
        take_over(d, i);
    if (d->gpus.n > 0) {
        on_timer(d);
        return;
    }
    for (int32_t i = 0; node && i < node->devices; i++) { /* slots now: nothing to mark */
        struct event event = {.kind = EVENT_DEVICE, .node = *node, .device = i};

        if (c->devices[node->first + i].state != DEVICE_CLEAN)
            (void)local_post(d->local, &event, NULL, NULL);
    }
}

bool devices_may_start(struct devices *d, uint32_t job, char *why, size_t cap)
{
    bool may = true;

    for (int32_t i = 0; i < d->gpus.n; i++) {
        const struct device *device = device_of(d, i);
        struct sight s;

        if (!device || device->job != job || !(device->flags & HOLD_NEXT))
            continue;
        s = look(d, i, 0, memory_state(d, i));
        note(d, i, &s);
        if (s.state == DEVICE_CLEAN)
            s = d->slots[i].posted; /* it may look clean for too short a time */
        if (s.state == DEVICE_CLEAN)
            continue;
        if (may)
            text_fit_printf(why, cap, "gpu %d is %s%s%s%s", i, device_state_name(s.state),
                            s.who[0] ? " (" : "", s.who, s.who[0] ? ")" : "");
        may = false;
    }
    return may;
}

bool devices_are_left(struct devices *d, uint32_t job, bool is_last)
{
    bool are_left = true;

    for (int32_t i = 0; i < d->gpus.n; i++) {
        const struct device *device = device_of(d, i);
        struct sight s;

        if (!device || device->job != job || !(device->flags & HOLD_NOW))
            continue;
        s = look(d, i, 0, DEVICE_STUCK);
        if (s.state != DEVICE_CLEAN && (s.state == DEVICE_FOREIGN || is_last))
            note(d, i, &s);
        are_left = are_left && s.state != DEVICE_STUCK;
    }
    return are_left;
}

struct devices *devices_new(struct local *local, const struct local_gpus *gpus)
{
    struct devices *d = mem_new(1, sizeof(*d));

    if (!d)
        return NULL;
    *d = (struct devices){.local = local, .gpus = *gpus};
    d->slots = mem_new((size_t)gpus->n, sizeof(*d->slots));
    d->timer = loop_timer_new(local->loop, on_timer, d);
    if (!d->slots || !d->timer) {
        devices_free(d);
        return NULL;
    }
    for (int32_t i = 0; i < gpus->n; i++)
        d->slots[i].seen_us = -gpus->clean_us;
    return d;
}

void devices_free(struct devices *d)
{
    if (!d)
        return;
    loop_timer_free(d->timer);
    mem_free(d->slots);
    mem_free(d);
}
