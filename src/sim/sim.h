/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h - runs a scenario: the daemon's engine and core, a virtual clock, a modelled
 * cluster, a store made of memory. The same scenario always gives the same result. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/job.h"
#include "sim/scenario.h"
#include "sim/spans.h"

#define SIM_STORY_MAX ((size_t)64 << 20)

enum sim_checks { SIM_CHECK_ALL, SIM_CHECK_NONE };

struct sim_options {
    enum sim_checks checks; /* core_check() and the world's own books after every step */
    bool wants_story;
    bool wants_spans;
    /* The engine is torn down and built anew from the store, without the daemon's own
     * restart event, at every so-manieth quiet moment; 0: never. The story must not
     * change. */
    int64_t rebuild_every;
};

/* A job as it ended, or as it was when the run ended. */
struct sim_job {
    uint32_t id;   /* 0: never accepted */
    int32_t index; /* in the scenario */
    enum job_state state;
    usec_t submit_us; /* all moments since the start of the scenario; -1: not reached */
    usec_t start_us;
    usec_t end_us;
    usec_t active_us;
    int64_t device_us;
    int64_t samples_done;
    int64_t samples_repeated;
    int32_t resizes;
    char reason[REASON_MAX_BYTES];
};

/* A node as the core numbered it. */
struct sim_node {
    int32_t index; /* in the scenario */
    int32_t first; /* its first device */
    int32_t devices;
};

struct sim_result {
    struct buf story;
    struct spans spans;   /* moments on the core's clock: minus SIM_ZERO_US */
    struct sim_job *jobs; /* one for each job of the scenario */
    size_t n_jobs;
    struct sim_node *nodes; /* those that came, by first device */
    size_t n_nodes;
    size_t n_unfinished; /* accepted, and in no final state at the end */
    size_t n_refused;
    usec_t end_us; /* when nothing was left to happen, or `until` */
    int64_t steps; /* rows of the journal */
    int64_t plans;
    uint64_t digest; /* of the journal's end state and the story */
};

void sim_result_init(struct sim_result *result);
void sim_result_release(struct sim_result *result);

/* Runs to the end into an initialised result. Returns 0; E_NOMEM; E_CORRUPT when an
 * invariant broke, with its name and the moment in err: the story goes up to there. */
int sim_run(const struct scenario *scn, const struct sim_options *options,
            struct sim_result *result, struct err *err);

/* The per-job table for people. */
void sim_table(const struct scenario *scn, const struct sim_result *result,
               struct buf *out);

#endif
