/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - one step after the other, and nothing leaves before its row is durable.
 *
 * A step: decide; collect what the changes touch; write event, changes and facts down as
 * text; make room for what must be remembered; hand the row to the store; fold the
 * changes in; remember answer and duties until engine_committed(). Invariants:
 *   1. Up to the store's yes, a step leaves no trace, so a failed allocation puts it off:
 *      the event stays first in the queue and is decided again at the next run.
 *   2. After the store's yes a step is only ever completed. The one thing that can still
 *      fail is core_apply() for want of memory; then the step stays open, with the index
 *      of the change that comes next, and nothing else happens before it is closed. Its
 *      answer and duties are noted when it closes, even if its row is durable by then.
 *   3. An answer or a duty leaves only when the row it follows from, and all rows before
 *      it, are durable. An answer to an event that made no row waits for the rows that
 *      were there when it was decided, since it may speak of them. A refusal does not
 *      wait: nothing follows from it.
 *   4. The time of steps never decreases, restarts included: an event's time is raised to
 *      that of the run, the newest step and the newest row of the journal.
 *   5. While nothing can become durable, nothing is planned and no request is taken;
 *      reports of the world are, since they are true whether we can write or not.
 * A change that core_apply() calls corrupt can only be our own mistake here: ASSERT.
 * Answers and ports may post events; they may not run the engine. A store that answers
 * within append() is served when the step is closed.
 *
 * Not here: clocks and threads (loop/, store/), what a duty means (backend/). */
#include "engine/engine.h"

#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/mem.h"
#include "core/change.h"
#include "core/event.h"
#include "engine/due.h"
#include "engine/inbox.h"
#include "engine/touch.h"
#include "wire/journal.h"

/* After a wake that changed nothing, the same state is not woken again for this span. */
#define ENGINE_IDLE_WAKE_US USEC_PER_SEC

struct owed {
    int64_t seq; /* all rows up to this one must be durable */
    engine_answer_fn answer;
    void *arg;
    uint32_t job;
};

/* Answers in the order in which they become due: items[first .. first + n - 1]. */
struct owed_list {
    struct owed *items;
    size_t first;
    size_t n;
    size_t cap;
};

/* A step between the store's yes and its end (invariant 2). */
struct open_step {
    bool is_open;
    bool is_watched; /* change `next` was shown to the watch port */
    size_t next;     /* index of the change that comes next */
    const struct event *event;
    engine_answer_fn answer;
    void *arg;
};

struct engine {
    struct engine_ports ports;
    struct core *core;
    struct inbox inbox;
    struct inbox_item *current; /* owns the event of the open step; NULL: own_event */
    struct event own_event;     /* wake or plan */
    struct open_step step;
    struct changes changes;
    struct touches touches;
    struct facts facts;
    struct buf input;
    struct buf text;
    struct owed_list owed;
    struct due_list due;
    int64_t seq;
    int64_t durable_seq;
    int64_t snapshot_rows; /* since the newest snapshot */
    size_t snapshot_bytes;
    usec_t now_us;
    usec_t input_us;       /* first input since the last plan; USEC_NEVER: none */
    int64_t idle_wake_seq; /* a wake on this state changed nothing; -1: none did */
    usec_t idle_wake_us;   /* then the next one comes no sooner than this */
    bool has_begun;
    bool is_running;
    bool is_flushing;
    bool is_closing;
    bool is_blocked;
    struct err why;
};

struct engine *engine_new(const struct engine_ports *ports)
{
    struct engine *e = mem_new(1, sizeof *e);

    ASSERT(ports->store.append);
    ASSERT(ports->backend.perform);
    if (!e)
        return NULL;
    e->core = core_new();
    if (!e->core) {
        mem_free(e);
        return NULL;
    }
    e->ports = *ports;
    e->input_us = USEC_NEVER;
    e->idle_wake_seq = -1;
    changes_init(&e->changes);
    facts_init(&e->facts);
    buf_init(&e->input, WIRE_ROW_MAX);
    buf_init(&e->text, WIRE_ROW_MAX);
    return e;
}

static void answer_now(engine_answer_fn answer, void *arg, int rc, const struct err *err,
                       uint32_t job)
{
    const struct err none = {0};

    if (answer)
        answer(arg, rc, err ? err : &none, job);
}

/* What was never taken, and what was taken and never became durable. */
static void refuse_all(struct engine *e)
{
    struct err err;
    struct inbox_item *item;

    (void)err_set(&err, E_AGAIN, "the scheduler stops; ask again when it is back");
    if (e->step.is_open)
        answer_now(e->step.answer, e->step.arg, E_AGAIN, &err, 0);
    for (size_t i = 0; i < e->owed.n; i++) {
        const struct owed *owed = &e->owed.items[e->owed.first + i];

        answer_now(owed->answer, owed->arg, E_AGAIN, &err, 0);
    }
    while ((item = inbox_take(&e->inbox))) {
        answer_now(item->answer, item->arg, E_AGAIN, &err, 0);
        inbox_item_free(item);
    }
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    ASSERT(!e->is_running);
    ASSERT(!e->is_flushing);
    e->is_closing = true;
    refuse_all(e);
    inbox_item_free(e->current);
    changes_release(&e->changes);
    touches_release(&e->touches);
    facts_release(&e->facts);
    buf_release(&e->input);
    buf_release(&e->text);
    mem_free(e->owed.items);
    due_release(&e->due);
    core_free(e->core);
    mem_free(e);
}

/* Recovery. */

static int apply_loaded(struct core *core, const struct changes *changes, int64_t seq,
                        struct err *err)
{
    for (size_t i = 0; i < changes->n; i++) {
        int rc = core_apply(core, &changes->items[i]);

        if (rc < 0)
            return err_set(err, rc, "row %lld: change %zu (%s) does not fit the state",
                           (long long)seq, i, change_kind_name(changes->items[i].kind));
    }
    return 0;
}

int engine_load_snapshot(struct engine *e, int64_t seq, const char *text, size_t len,
                         struct err *err)
{
    struct changes changes;
    struct core *core = core_new();
    int64_t seq_inside = 0;
    int rc = E_NOMEM;

    ASSERT(!e->has_begun);
    ASSERT(e->seq == 0);
    changes_init(&changes);
    if (!core)
        goto out;
    rc = wire_snapshot_decode(text, len, &changes, &seq_inside, err);
    if (rc == 0 && seq_inside != seq)
        rc = err_set(err, E_CORRUPT, "snapshot %lld says that it is %lld", (long long)seq,
                     (long long)seq_inside);
    if (rc == 0)
        rc = apply_loaded(core, &changes, seq, err);
    if (rc < 0)
        goto out;
    core_free(e->core);
    e->core = core;
    core = NULL;
    e->seq = seq;
    e->now_us = i64_max(e->now_us, core_globals(e->core)->now_us);
out:
    if (rc == E_INVALID)
        rc = E_CORRUPT;
    if (rc < 0 && err)
        err->code = rc;
    changes_release(&changes);
    core_free(core);
    return rc;
}

int engine_load_row(struct engine *e, const struct engine_row *row, struct err *err)
{
    struct err inner = {0};
    int rc;

    ASSERT(!e->has_begun);
    if (row->seq != e->seq + 1)
        return err_set(err, E_CORRUPT, "row %lld follows row %lld; rows are missing",
                       (long long)row->seq, (long long)e->seq);
    if (row->kind_version > WIRE_KIND_VERSION)
        return err_set(err, E_VERSION, "row %lld is of version %d; this one knows %d",
                       (long long)row->seq, row->kind_version, WIRE_KIND_VERSION);
    changes_clear(&e->changes);
    rc = wire_changes_decode(row->changes, strlen(row->changes), &e->changes, &inner);
    if (rc < 0)
        return err_set(err, rc == E_INVALID ? E_CORRUPT : rc, "row %lld: %s%s%s",
                       (long long)row->seq, inner.field, inner.field[0] ? " " : "",
                       inner.text);
    rc = apply_loaded(e->core, &e->changes, row->seq, err);
    if (rc < 0)
        return rc;
    e->seq = row->seq;
    e->now_us = i64_max(e->now_us, row->time_us);
    e->snapshot_rows++;
    e->snapshot_bytes += strlen(row->input) + strlen(row->changes);
    return 0;
}

void engine_begin(struct engine *e)
{
    size_t n = core_n_jobs(e->core);

    ASSERT(!e->has_begun);
    e->has_begun = true;
    e->durable_seq = e->seq;
    e->now_us = i64_max(e->now_us, core_globals(e->core)->now_us);
    e->is_flushing = true; /* ports may post, and nothing else */
    for (size_t i = 0; i < n; i++) {
        const struct job *job = core_job_at(e->core, i);
        struct duty duty = job_duty(job);

        if (duty.kind != DUTY_NONE)
            e->ports.backend.perform(e->ports.backend.ctx, e->core, job, &duty);
    }
    e->is_flushing = false;
}

/* What leaves the engine. */

static void perform(struct engine *e, const struct due *due)
{
    const struct engine_backend_port *backend = &e->ports.backend;
    const struct job *job = core_find_job(e->core, due->job);

    if (due->is_forget) {
        if (backend->forget)
            backend->forget(backend->ctx, due->job);
        return;
    }
    ASSERT(job); /* a job that left has an entry that says so */
    backend->perform(backend->ctx, e->core, job, &due->duty);
}

static struct owed *owed_first(struct engine *e)
{
    return e->owed.n > 0 ? &e->owed.items[e->owed.first] : NULL;
}

static void answer_up_to(struct engine *e, int64_t seq)
{
    struct owed *first;

    while ((first = owed_first(e)) && first->seq <= seq) {
        struct owed owed = *first;

        e->owed.first++;
        e->owed.n--;
        answer_now(owed.answer, owed.arg, 0, NULL, owed.job);
    }
    if (e->owed.n == 0)
        e->owed.first = 0;
}

/* Duties before answers: who hears "durable" may rely on it that work has begun. Not
 * while a step is open: the core is between two states then. */
static void flush(struct engine *e)
{
    const struct due *due;
    int64_t seq;

    if (e->is_flushing || e->is_running || e->step.is_open)
        return;
    e->is_flushing = true;
    do {
        size_t n;

        seq = e->durable_seq;
        n = due_take(&e->due, seq, &due);
        for (size_t i = 0; i < n; i++)
            perform(e, &due[i]);
        answer_up_to(e, seq);
    } while (seq < e->durable_seq);
    e->is_flushing = false;
}

void engine_committed(struct engine *e, int64_t seq)
{
    ASSERT(seq <= e->seq);
    if (seq <= e->durable_seq)
        return;
    e->durable_seq = seq;
    e->is_blocked = false;
    flush(e);
}

void engine_commit_failed(struct engine *e, const struct err *err)
{
    e->is_blocked = true;
    e->why = *err;
}

/* Steps. */

static bool is_congested(const struct engine *e)
{
    return e->is_blocked || e->seq - e->durable_seq >= ENGINE_UNCOMMITTED_MAX;
}

/* Events that a person waits for; the others report what has happened anyway. */
static bool is_request(enum event_kind kind)
{
    switch (kind) {
    case EVENT_CONFIG:
    case EVENT_SUBMIT:
    case EVENT_UPDATE:
    case EVENT_CANCEL:
    case EVENT_PAUSE:
    case EVENT_RESUME:
        return true;
    case EVENT_NODE_UP:
    case EVENT_NODE_LOST:
    case EVENT_STARTED:
    case EVENT_SAVED:
    case EVENT_SAVE_FAILED:
    case EVENT_EXIT:
    case EVENT_PERF:
    case EVENT_MODEL:
    case EVENT_DAEMON_START:
    case EVENT_ADOPTED:
    case EVENT_WAKE:
    case EVENT_PLAN:
    case EVENT_DEVICE:
    case EVENT_KIND_MAX:
        break;
    }
    return false;
}

int engine_post(struct engine *e, const struct event *event, engine_answer_fn answer,
                void *arg)
{
    size_t max = is_request(event->kind) ? ENGINE_QUEUE_MAX / 2 : ENGINE_QUEUE_MAX;

    ASSERT(e->has_begun);
    if (e->is_closing || e->inbox.n >= max)
        return E_AGAIN;
    return inbox_put(&e->inbox, event, answer, arg);
}

/* Makes room for one more answer, at the end of the array. */
static int owed_reserve(struct owed_list *owed)
{
    void *p = owed->items;
    int rc;

    if (owed->first > owed->n) {
        memmove(owed->items, owed->items + owed->first, owed->n * sizeof *owed->items);
        owed->first = 0;
    }
    rc = mem_reserve(&p, &owed->cap, owed->first + owed->n + 1, sizeof *owed->items);
    if (rc < 0)
        return rc;
    owed->items = p;
    return 0;
}

/* The room is there. */
static void owe(struct engine *e, engine_answer_fn answer, void *arg, uint32_t job)
{
    struct owed_list *owed = &e->owed;

    if (!answer)
        return;
    ASSERT(owed->first + owed->n < owed->cap);
    owed->items[owed->first + owed->n++] =
        (struct owed){.seq = e->seq, .answer = answer, .arg = arg, .job = job};
}

/* The id that a submit was given. */
static uint32_t new_job(const struct event *event, const struct changes *changes)
{
    if (event->kind != EVENT_SUBMIT)
        return 0;
    for (size_t i = 0; i < changes->n; i++)
        if (changes->items[i].kind == CHANGE_SPEC)
            return changes->items[i].u.spec->id;
    return 0;
}

static void auto_snapshot(struct engine *e)
{
    if (e->snapshot_rows < ENGINE_SNAPSHOT_ROWS &&
        e->snapshot_bytes < ENGINE_SNAPSHOT_BYTES)
        return;
    /* One that fails is not tried again at every row: the journal is enough. */
    e->snapshot_rows = 0;
    e->snapshot_bytes = 0;
    (void)engine_snapshot(e);
}

/* Folds the changes of the open step in and closes it. Returns 0 or E_NOMEM: still open.
 */
static int step_complete(struct engine *e)
{
    struct open_step *step = &e->step;
    const struct engine_watch_port *watch = &e->ports.watch;

    ASSERT(step->is_open);
    while (step->next < e->changes.n) {
        const struct change *change = &e->changes.items[step->next];
        int rc;

        if (watch->change && !step->is_watched)
            watch->change(watch->ctx, e->core, step->event, change);
        step->is_watched = true;
        rc = core_apply(e->core, change);
        if (rc == E_NOMEM)
            return rc;
        ASSERT(rc == 0);
        step->is_watched = false;
        step->next++;
    }
    due_note(&e->due, e->core, &e->touches, e->seq);
    owe(e, step->answer, step->arg, new_job(step->event, &e->changes));
    if (watch->step)
        watch->step(watch->ctx, e->core, step->event);
    step->is_open = false;
    inbox_item_free(e->current);
    e->current = NULL;
    auto_snapshot(e);
    return 0;
}

/* All that can fail before the store is asked: texts, facts, and room to remember. */
static int step_prepare(struct engine *e, const struct event *event)
{
    int rc = touches_collect(&e->touches, e->core, &e->changes);

    if (rc == 0)
        rc = facts_build(&e->facts, e->core, &e->touches, &e->changes, event->time_us);
    if (rc == 0)
        rc = due_reserve(&e->due, e->touches.n);
    if (rc == 0)
        rc = owed_reserve(&e->owed);
    if (rc < 0)
        return rc;
    buf_clear(&e->input);
    buf_clear(&e->text);
    wire_event_encode(event, &e->input);
    wire_changes_encode(&e->changes, &e->text);
    return buf_error(&e->input) < 0 ? buf_error(&e->input) : buf_error(&e->text);
}

static int step_append(struct engine *e, const struct event *event)
{
    const struct engine_row row = {
        .seq = e->seq + 1,
        .time_us = event->time_us,
        .kind = event_kind_name(event->kind),
        .input = e->input.text,
        .changes = e->text.text,
        .kind_version = WIRE_KIND_VERSION,
        .rules = CORE_RULES,
        .facts = e->facts.items,
        .n_facts = e->facts.n,
    };
    int rc;

    e->seq++; /* before: the store may answer at once */
    rc = e->ports.store.append(e->ports.store.ctx, &row);
    if (rc < 0) {
        e->seq--;
        return rc;
    }
    e->snapshot_rows++;
    e->snapshot_bytes += e->input.len + e->text.len;
    return 0;
}

/* Decides on the event and gets its row to the store. Returns 0: the step is open, or
 * needed no row (ret_is_open); E_NOMEM: put off, no trace; else: refused, with err. */
static int step_begin(struct engine *e, struct event *event, bool *ret_is_open,
                      struct err *err)
{
    int rc;

    ASSERT(!e->step.is_open);
    event->time_us = i64_max(event->time_us, e->now_us);
    changes_clear(&e->changes);
    rc = core_decide(e->core, event, &e->changes, err);
    if (rc < 0)
        return rc;
    *ret_is_open = false;
    if (e->changes.n == 0)
        return owed_reserve(&e->owed);
    rc = step_prepare(e, event);
    if (rc == 0)
        rc = step_append(e, event);
    if (rc < 0)
        return rc == E_NOMEM ? rc
                             : err_set(err, rc, "the step is too large to be written");
    e->now_us = event->time_us;
    *ret_is_open = true;
    return 0;
}

static void step_open(struct engine *e, const struct event *event,
                      engine_answer_fn answer, void *arg)
{
    e->step =
        (struct open_step){.is_open = true, .event = event, .answer = answer, .arg = arg};
}

static void refuse(struct engine *e, int rc, const struct err *err)
{
    struct inbox_item *item = inbox_take(&e->inbox);

    answer_now(item->answer, item->arg, rc, err, 0);
    inbox_item_free(item);
}

static void congestion(const struct engine *e, struct err *err)
{
    if (e->is_blocked)
        (void)err_set(err, E_AGAIN, "the journal cannot be written now: %s", e->why.text);
    else
        (void)err_set(err, E_AGAIN, "%lld rows wait to be written; ask again",
                      (long long)(e->seq - e->durable_seq));
}

/* One event from the queue, which is not empty. Returns 0 or E_NOMEM. */
static int take_event(struct engine *e)
{
    struct inbox_item *item = e->inbox.first;
    struct err err = {0};
    bool is_open = false;
    int rc;

    if (is_request(item->event.kind) && is_congested(e)) {
        congestion(e, &err);
        refuse(e, E_AGAIN, &err);
        return 0;
    }
    rc = step_begin(e, &item->event, &is_open, &err);
    if (rc == E_NOMEM)
        return rc;
    if (rc < 0) {
        refuse(e, rc, &err);
        return 0;
    }
    item = inbox_take(&e->inbox);
    if (!is_open) {
        owe(e, item->answer, item->arg, 0);
        inbox_item_free(item);
        return 0;
    }
    e->current = item;
    step_open(e, &item->event, item->answer, item->arg);
    return step_complete(e);
}

/* A wake or a plan. Neither can be refused. Returns 0 or E_NOMEM. */
static int take_own(struct engine *e, enum event_kind kind)
{
    bool is_open = false;
    int rc;

    e->own_event = (struct event){.kind = kind, .time_us = e->now_us};
    rc = step_begin(e, &e->own_event, &is_open, NULL);
    if (rc == E_NOMEM)
        return rc;
    ASSERT(rc == 0);
    if (!is_open)
        return 0;
    step_open(e, &e->own_event, NULL, NULL);
    return step_complete(e);
}

/* When the core is to be woken. A wake that changed nothing is repeated at leisure, so
 * that a moment in the past cannot make the loop spin. */
static usec_t next_wake(const struct engine *e)
{
    usec_t wake_us = core_next_wake(e->core);

    if (wake_us == USEC_NEVER || e->idle_wake_seq != e->seq)
        return wake_us;
    return i64_max(wake_us, e->idle_wake_us);
}

static int run_wake(struct engine *e)
{
    int64_t seq = e->seq;
    int rc;

    if (is_congested(e) || next_wake(e) > e->now_us)
        return 0;
    rc = take_own(e, EVENT_WAKE);
    if (rc == 0 && e->seq == seq) {
        e->idle_wake_seq = seq;
        e->idle_wake_us = e->now_us + ENGINE_IDLE_WAKE_US;
    }
    return rc;
}

static int run_plan(struct engine *e)
{
    usec_t not_before_us = 0;
    int rc;

    if (!core_needs_plan(e->core, &not_before_us)) {
        e->input_us = USEC_NEVER;
        return 0;
    }
    e->input_us = i64_min(e->input_us, e->now_us);
    if (is_congested(e) || e->now_us < not_before_us)
        return 0;
    if (e->inbox.n > 0 && e->now_us - e->input_us < ENGINE_PLAN_DELAY_US)
        return 0;
    rc = take_own(e, EVENT_PLAN);
    if (rc == 0)
        e->input_us = USEC_NEVER;
    return rc;
}

static int run_steps(struct engine *e)
{
    int rc = 0;

    if (e->step.is_open)
        rc = step_complete(e);
    for (int i = 0; i < ENGINE_RUN_EVENTS && e->inbox.n > 0 && rc == 0; i++)
        rc = take_event(e);
    if (rc == 0)
        rc = run_wake(e);
    if (rc == 0)
        rc = run_plan(e);
    return rc;
}

static usec_t next_run(const struct engine *e)
{
    usec_t next_us = USEC_NEVER;
    usec_t not_before_us = 0;

    if (e->inbox.n > 0)
        return e->now_us;
    if (is_congested(e))
        return USEC_NEVER;
    if (core_needs_plan(e->core, &not_before_us))
        next_us = i64_max(not_before_us, e->now_us);
    return i64_min(next_us, i64_max(next_wake(e), e->now_us));
}

usec_t engine_run(struct engine *e, usec_t now_us)
{
    int rc;

    ASSERT(e->has_begun);
    ASSERT(!e->is_running);
    ASSERT(!e->is_flushing);
    e->now_us = i64_max(e->now_us, now_us);
    e->is_running = true;
    rc = run_steps(e);
    e->is_running = false;
    flush(e);
    return rc < 0 ? rc : next_run(e);
}

int engine_snapshot(struct engine *e)
{
    const struct engine_store_port *store = &e->ports.store;
    struct buf text;
    int rc = 0;

    if (!store->snapshot)
        return 0;
    if (e->step.is_open)
        rc = step_complete(e);
    if (rc < 0)
        return rc;
    buf_init(&text, WIRE_SNAPSHOT_MAX);
    rc = wire_snapshot_encode(e->core, e->seq, &text);
    if (rc == 0)
        rc = buf_error(&text);
    if (rc == 0)
        rc = store->snapshot(store->ctx, e->seq, text.text, text.len);
    buf_release(&text);
    return rc;
}

const struct core *engine_core(const struct engine *e)
{
    return e->core;
}

int64_t engine_seq(const struct engine *e)
{
    return e->seq;
}

bool engine_is_blocked(const struct engine *e, struct err *ret_why)
{
    if (e->is_blocked && ret_why)
        *ret_why = e->why;
    return e->is_blocked;
}
