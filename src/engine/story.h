/* SPDX-License-Identifier: Apache-2.0 */
/* story.h - what happened, as time-stamped lines for people (STYLE 11).
 *
 *     [0:00:00] a   queued   -> starting   4 gpu, batch 256    alone in the cluster
 *
 * Used as the engine's watch port: by the simulator, by golden tests and by `elastane
 * replay`, which prints a production journal in the same form. */
#ifndef ENGINE_STORY_H
#define ENGINE_STORY_H

#include "base/buf.h"
#include "core/core.h"
#include "engine/engine.h"

/* Work that a job has to do again; told when it trains on. */
struct story_debt {
    uint32_t job;
    int64_t samples;
    usec_t span_us; /* 0: not known */
};

/* A move into STOPPING whose end may come in the same step: then one line tells both. */
struct story_stop {
    bool is_open;
    usec_t time_us;
    enum job_state from;
    char name[NAME_MAX_BYTES];
    struct job_run run;
};

struct story {
    struct buf *out; /* lent */
    usec_t zero_us;  /* printed as [0:00:00]; what is there at that moment (nodes,
                        settings) is not told */
    int name_width;  /* of the widest job or node name that will come; at least 3 */
    struct story_debt *debts; /* owned */
    size_t n_debts;
    size_t cap_debts;
    struct story_stop stop;
};

void story_init(struct story *story, struct buf *out, usec_t zero_us, int name_width);
void story_release(struct story *story);

/* A watch port that appends lines to story->out. Out of memory shows as an error of the
 * buf. */
struct engine_watch_port story_watch(struct story *story);

/* A line of one's own in the same columns: "what" stands where states stand. Texts may be
 * "". */
void story_note(struct story *story, usec_t time_us, const char *name, const char *what,
                const char *detail, const char *reason);

#endif
