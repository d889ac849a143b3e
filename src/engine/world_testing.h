/* SPDX-License-Identifier: Apache-2.0 */
/* world_testing.h - a small world around an engine, for tests: a cluster, processes on
 * its devices, people, a slow journal, and crashes of the daemon.
 *
 * The world outlives the daemon. It asserts what no order of events may break: a process
 * is started only on devices that no other living process uses; no duty is performed that
 * the durable rows alone do not give; each incarnation lives once. */
#ifndef ENGINE_WORLD_TESTING_H
#define ENGINE_WORLD_TESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "engine/engine.h"
#include "engine/engine_testing.h"

#define WORLD_NODES   2
#define WORLD_DEVICES 6 /* 4 and 2 */
#define WORLD_PROCS   4096
#define WORLD_REPLIES 256
#define WORLD_ROWS    16384

struct world_proc {
    uint32_t job;
    uint32_t incarnation;
    uint32_t devices; /* one bit each */
    bool is_alive;
    enum job_cause cause; /* of its end */
};

struct world {
    struct journal journal;
    struct engine *engine;
    struct rng rng;
    usec_t now_us;
    struct world_proc procs[WORLD_PROCS];
    size_t n_procs;
    struct event replies[WORLD_REPLIES]; /* on their way to the daemon */
    size_t n_replies;
    uint64_t *digests; /* by row: of the state after it */
    size_t submits;
    size_t answers;
    size_t performed;
    size_t crashes;
    bool commits_fail;
};

/* A daemon on an empty journal, with its nodes known. */
void world_init(struct world *w, uint64_t seed);
/* An engine loaded with the first n rows of another journal, not begun. */
void world_init_from(struct world *w, uint64_t seed, const struct journal *journal,
                     size_t n, bool from_snapshot);
void world_release(struct world *w);

/* One random thing happens: a submit, a cancel, a report, an end, a commit, a run. */
void world_act(struct world *w);
/* The daemon dies; what was not durable is gone; it comes back and finds its jobs. */
void world_crash(struct world *w);
/* Faults stop, people cancel what is left, and time goes on until all jobs have ended. */
void world_settle(struct world *w);
/* Each live job's duty was performed since engine_begin(). */
void world_assert_duties(const struct world *w);

#endif
