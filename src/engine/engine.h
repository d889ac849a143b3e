/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - input -> decide -> journal -> apply -> perform (DESIGN 2).
 *
 * The engine drives one core and knows neither clock nor world: the daemon and the
 * simulator hand it different ports. It never waits. A step is decided and applied at
 * once; its row goes to the store port, and everything that leaves the engine because of
 * that step (duties to the backend, answers to people) is held back until the store says
 * that the row is durable. If a commit fails nothing is performed; the store retries and
 * new submits are refused with E_AGAIN until it succeeds.
 *
 * Duties the caller has towards the engine, in order: create it, feed the newest snapshot
 * and then the rows after it (engine_load_*), call engine_begin, then post events. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/core.h"
#include "core/duty.h"

/* Rows between two snapshots, and their bytes (DESIGN 2). */
#define ENGINE_SNAPSHOT_ROWS  10000
#define ENGINE_SNAPSHOT_BYTES ((size_t)16 << 20)
/* After the first input a plan is made at the latest after this span. */
#define ENGINE_PLAN_DELAY_US (10 * USEC_PER_MSEC)
/* Rows that may wait for the store; beyond, requests are refused with E_AGAIN. */
#define ENGINE_UNCOMMITTED_MAX 65536

/* Events that may wait for their step; the upper half is kept for reports of the world,
 * so that a flood of requests cannot crowd out an exit. */
#define ENGINE_QUEUE_MAX 131072
/* Events that one engine_run() takes, so that the loop around it stays alive. */
#define ENGINE_RUN_EVENTS 1024

/* Something worth finding again when the job has left the core. Append-only. */
enum engine_fact_kind {
    ENGINE_FACT_JOB,     /* {"run":..,"spec":..} of a new job */
    ENGINE_FACT_HISTORY, /* one move: accumulation, generation, global_batch, micro_batch,
                            reason, size, state, time_us */
    ENGINE_FACT_END,     /* {"run":..,"spec":..} of a job that reached a final state */
    ENGINE_FACT_KIND_MAX
};

struct engine_fact {
    enum engine_fact_kind kind;
    uint32_t job;
    const char *json;
};

struct engine_row {
    int64_t seq; /* 1, 2, 3, ... without gaps */
    usec_t time_us;
    const char *kind;    /* event_kind_name() */
    const char *input;   /* JSON of the event */
    const char *changes; /* JSON array of the changes */
    int32_t kind_version;
    int32_t rules; /* CORE_RULES that decided */
    const struct engine_fact *facts;
    size_t n_facts;
};

/* All calls return at once; texts are lent for the call and must be copied. */
struct engine_store_port {
    void *ctx;
    /* Takes the row for writing. The store answers in order with engine_committed(),
     * later or, where writing is nothing, at once. Returns 0 or E_NOMEM. */
    int (*append)(void *ctx, const struct engine_row *row);
    /* Takes a snapshot of the state as of row seq. Best effort: a failure is the store's
     * to report; the journal alone is enough to recover. */
    int (*snapshot)(void *ctx, int64_t seq, const char *text, size_t len);
};

struct engine_backend_port {
    void *ctx;
    /* Performs a duty of a job; devices are those with the duty's flags (duty_devices).
     * Answers come as events. May be called again with an equal duty. */
    void (*perform)(void *ctx, const struct core *core, const struct job *job,
                    const struct duty *duty);
    /* The job has reached a final state and left the core. May be NULL. */
    void (*forget)(void *ctx, uint32_t job);
};

/* Sees each change just before it is folded in, with the state before it; story printers,
 * event streams and statistics live here. May be NULL. */
struct engine_watch_port {
    void *ctx;
    void (*change)(void *ctx, const struct core *before, const struct event *event,
                   const struct change *change);
    /* After all changes of a step. May be NULL. */
    void (*step)(void *ctx, const struct core *after, const struct event *event);
};

struct engine_ports {
    struct engine_store_port store;
    struct engine_backend_port backend;
    struct engine_watch_port watch;
};

/* Answer to a posted event: rc 0 (durable) or why it was refused. `job` is the id that a
 * submit was given, else 0. Called exactly once, never from within engine_post(). */
typedef void (*engine_answer_fn)(void *arg, int rc, const struct err *err, uint32_t job);

struct engine;

struct engine *engine_new(const struct engine_ports *ports);
/* Answers still owed are given with E_AGAIN. */
void engine_free(struct engine *engine);

/* Recovery. A row is applied, never decided again. Returns 0, E_NOMEM, E_CORRUPT or
 * E_VERSION, with the place in err. A snapshot that fails leaves the engine as it was, so
 * that an older one can be tried; after a row that fails the engine is only to be freed.
 */
int engine_load_snapshot(struct engine *engine, int64_t seq, const char *text, size_t len,
                         struct err *err);
int engine_load_row(struct engine *engine, const struct engine_row *row, struct err *err);
/* Ends recovery: all duties of all jobs are performed (again), then events may be posted.
 */
void engine_begin(struct engine *engine);

/* Queues an event; its time is raised to the newest seen if it lies before it. The event
 * is copied. answer may be NULL. May be called from within answers and ports. Returns 0,
 * or E_NOMEM, or E_AGAIN (the queue is full); then answer is never called. */
int engine_post(struct engine *engine, const struct event *event, engine_answer_fn answer,
                void *arg);

/* Takes the queued events, ENGINE_RUN_EVENTS at most, then wakes the core and makes a
 * plan when they are due at `now_us`; with events left over, a plan is made only
 * ENGINE_PLAN_DELAY_US after the first unplanned input. Returns the moment when it wants
 * to be run again without new events (events left over: at once; interval, wake of the
 * core), USEC_NEVER for none. Returns E_NOMEM (negative) when a step had to be put off:
 * run again.
 *
 * While commits fail, or ENGINE_UNCOMMITTED_MAX rows wait, no plan is made and requests
 * of people (config, submit, update, cancel, pause, resume) are answered with E_AGAIN;
 * run the engine again after engine_committed(). */
usec_t engine_run(struct engine *engine, usec_t now_us);

/* From the store: all rows up to seq are durable. Performs and answers what waited. */
void engine_committed(struct engine *engine, int64_t seq);
/* From the store: the oldest rows cannot be written now (disk full); it goes on trying.
 */
void engine_commit_failed(struct engine *engine, const struct err *err);

const struct core *engine_core(const struct engine *engine);
int64_t engine_seq(const struct engine *engine);
/* Whether commits fail now, and why. */
bool engine_is_blocked(const struct engine *engine, struct err *ret_why);
/* Hands a snapshot of the present state to the store now (clean stop). Returns 0,
 * E_NOMEM, E_LIMIT or what the store says. */
int engine_snapshot(struct engine *engine);

#endif
