/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - what a job is: what its owner asked for (spec), and what is true of it now
 * (run).
 *
 * The spec changes only through an `update` event. The run changes at every step of the
 * job's life (DESIGN 3); its state is moved by job_move() alone. Both are plain records:
 * changes carry whole records, and applying a change stores one. */
#ifndef CORE_JOB_H
#define CORE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/units.h"
#include "core/limits.h"

enum job_state {
    JOB_QUEUED,
    JOB_STARTING,
    JOB_RUNNING,
    JOB_RESIZING,
    JOB_STOPPING,
    JOB_PAUSED,
    JOB_DONE,
    JOB_FAILED,
    JOB_CANCELLED,
    JOB_DROPPED,
    JOB_STATE_MAX
};

/* Where a resize by checkpoint and restart stands; JOB_PHASE_NONE outside of it. */
enum job_phase {
    JOB_PHASE_NONE,
    JOB_PHASE_SAVE,  /* asked to save; a failed save calls the resize off */
    JOB_PHASE_EXIT,  /* the old incarnation ends; its exits are awaited */
    JOB_PHASE_START, /* the new incarnation starts with plan `next` */
    JOB_PHASE_MAX
};

/* How far a job cooperates (DESIGN 3). */
enum job_level { JOB_RIGID, JOB_RESTARTABLE, JOB_ELASTIC, JOB_LEVEL_MAX };

/* When a > 1 is allowed (DESIGN 4.2). */
enum job_accumulate {
    JOB_ACCUMULATE_NEEDED,
    JOB_ACCUMULATE_NEVER,
    JOB_ACCUMULATE_FREE,
    JOB_ACCUMULATE_MAX
};

/* What is measured of a job to plan it by (DESIGN 4.1). In all three its progress and its
 * rate are told. */
enum job_profile {
    JOB_PROFILE_PROBE,   /* its first steps are cut to be measured, sizes are tried */
    JOB_PROFILE_PASSIVE, /* measured by what it does anyway */
    JOB_PROFILE_OFF,     /* not at all: planned by its stated model, else by the prior */
    JOB_PROFILE_MAX
};

enum job_lr_rule { JOB_LR_NONE, JOB_LR_LINEAR, JOB_LR_SQRT, JOB_LR_RULE_MAX };

/* Why an incarnation ended, as far as shim and backend can tell. */
enum job_cause {
    JOB_CAUSE_NONE,
    JOB_CAUSE_DONE,       /* the command exited 0 of its own accord */
    JOB_CAUSE_STOPPED,    /* ended on our notice; what was saved is saved */
    JOB_CAUSE_USER_ERROR, /* the command failed by itself: exit_code says how */
    JOB_CAUSE_KILLED,     /* did not answer within the grace, or was killed by a signal */
    JOB_CAUSE_NODE_LOST,  /* the node went away under it */
    JOB_CAUSE_START_FAILED, /* could not be started: no such command, no such directory */
    JOB_CAUSE_LOST,         /* after a restart of the daemon nobody knows of it */
    JOB_CAUSE_TIME_LIMIT,
    JOB_CAUSE_OUT_OF_MEMORY, /* its micro-batch did not fit: again, with a smaller one */
    JOB_CAUSE_DEVICE_BUSY,   /* not begun: somebody else was on one of its devices */
    JOB_CAUSE_MAX
};

/* The sizes a job may have: min, min + step, ... max; or the listed ones (ascending). */
struct size_set {
    int32_t min;
    int32_t max;
    int32_t step;
    int32_t n_listed; /* 0: use min, max, step */
    int32_t listed[SIZES_LISTED_MAX];
};

struct job_spec {
    uint32_t id; /* given by the core at submit; 0 before */
    char name[NAME_MAX_BYTES];
    char family[NAME_MAX_BYTES];      /* jobs of one family share a profile; may be "" */
    char device_type[NAME_MAX_BYTES]; /* "" is any */
    uint32_t uid;
    uint32_t gid;
    enum job_level level;
    struct size_set sizes;
    int32_t batch_min;  /* samples per optimizer step; 0 with batch_max 0: none stated */
    int32_t batch_max;  /* equal to batch_min: the batch is fixed */
    int32_t batch_base; /* the batch for which the learning rate was chosen */
    int32_t gpu_batch;  /* largest micro-batch, samples per device; 0: not known */
    enum job_accumulate accumulate;
    enum job_lr_rule lr_rule;
    enum job_profile profile;
    int64_t samples_total; /* length of the training in samples; 0: not known */
    usec_t time_limit_us;  /* span in running states; 0: none */
    usec_t grace_us;       /* span between a stop notice and SIGKILL */
    int32_t retries;       /* restarts after faults that were not asked for */
    int32_t cpus_per_device;
    int64_t mem_bytes_per_device;
    int64_t weight_ppm; /* multiplies the distance from the value of waiting */
    char *launch; /* JSON text for the backend, opaque to the core; owned; may be NULL */
};

/* One plan: what every rank is told in one message. size 0 is "no plan". */
struct job_plan {
    uint32_t generation;
    int32_t size;         /* devices = ranks */
    int32_t global_batch; /* B, samples per optimizer step; 0: the job states no batch */
    int32_t micro_batch;  /* m, samples; the largest share of one pass */
    int32_t accumulation; /* a, passes per step */
};

/* Measured stalls, by kind of move. 0 is "not measured". */
enum job_stall { JOB_STALL_RESTART, JOB_STALL_IN_PLACE, JOB_STALL_BATCH, JOB_STALL_MAX };

struct job_run {
    uint32_t id;
    enum job_state state;
    enum job_state goal;  /* of JOB_STOPPING: where it will go; else equal to state */
    enum job_phase phase; /* of JOB_RESIZING */
    bool is_unconfirmed;  /* after a restart of the daemon, until its shim answers */
    bool is_broken;       /* RUNNING with a part of its devices lost: cannot train on */
    bool has_started;     /* at least once */
    uint32_t generation;  /* the highest ever used; only rises */
    uint32_t incarnation; /* the highest ever used; only rises */
    struct job_plan plan; /* in force (STARTING: being started) */
    struct job_plan next; /* RESIZING: the target */
    int64_t order;        /* place in the queue: smaller first; unique */
    usec_t submit_us;
    usec_t since_us;   /* moment of the last change of state */
    usec_t start_us;   /* moment of the first RUNNING; 0 before */
    usec_t moved_us;   /* moment at which the last move began (start or resize) */
    usec_t retry_us;   /* QUEUED: not started, RUNNING: not resized, before this moment */
    usec_t end_us;     /* moment of the final state; 0 before */
    usec_t active_us;  /* span in running states up to since_us */
    int64_t device_us; /* device-microseconds held up to since_us */
    int64_t samples_done;  /* trained, as far as is known */
    int64_t samples_saved; /* in the checkpoint to take up, as far as is known */
    int64_t samples_total; /* as its trainer says; 0: no word */
    int64_t samples_repeated;
    int64_t rate_milli; /* observed, 1e-3 samples/s under `plan`; 0: not yet */
    usec_t stall_us[JOB_STALL_MAX];
    usec_t warm_up_us; /* lost after its newest start before steps counted; 0: no word */
    int32_t retries_left;
    int32_t resizes;
    int32_t saves_failed; /* of resizes, in a row; each makes the rest after it longer */
    int32_t exit_code;
    enum job_cause cause;
    char reason[REASON_MAX_BYTES]; /* of the last move, for people */
};

const char *job_state_name(enum job_state state);
const char *job_phase_name(enum job_phase phase);
const char *job_level_name(enum job_level level);
const char *job_accumulate_name(enum job_accumulate accumulate);
const char *job_lr_rule_name(enum job_lr_rule rule);
const char *job_profile_name(enum job_profile profile);
const char *job_cause_name(enum job_cause cause);

bool job_state_is_final(enum job_state state);
/* STARTING, RUNNING, RESIZING and STOPPING hold devices. */
bool job_state_holds_devices(enum job_state state);
/* Whether the table of DESIGN 3 has an edge from one to the other. */
bool job_state_may_follow(enum job_state from, enum job_state to);

/* Moves the job. `goal` counts only when next is JOB_STOPPING. Accounts device and
 * running time, clears phase and next plan when they end. The edge must be legal
 * (ASSERT). */
void job_move(struct job_run *run, enum job_state next, enum job_state goal,
              usec_t now_us, const char *fmt, ...) ATTR_PRINTF(5, 6);

/* Gives a job in JOB_STOPPING another goal (a cancel during a pause, an end of its own).
 */
void job_set_goal(struct job_run *run, enum job_state goal, const char *fmt, ...)
    ATTR_PRINTF(3, 4);

/* Sets the phase of a resize; legal order is SAVE -> EXIT -> START (SAVE may be skipped).
 */
void job_set_phase(struct job_run *run, enum job_phase phase);

bool size_set_has(const struct size_set *set, int32_t size);
/* The smallest allowed size >= at_least, or 0 when there is none. */
int32_t size_set_next(const struct size_set *set, int32_t at_least);
/* The largest allowed size <= at_most, or 0. */
int32_t size_set_last(const struct size_set *set, int32_t at_most);

/* The name under which the job's profile is kept: its family, else its name without a
 * number at the end ("cnn-3" and "cnn-4" are of the family "cnn"). */
void job_spec_family(const struct job_spec *spec, char ret[NAME_MAX_BYTES]);

/* The length of the training in samples: what its owner said, else what its trainer says;
 * 0: not known. */
int64_t job_samples_total(const struct job_spec *spec, const struct job_run *run);

/* Everything that can be said about a spec without knowing the cluster: names the field,
 * the reason and what would be accepted. Fills nothing in; see job_spec_complete. */
int job_spec_check(const struct job_spec *spec, struct err *err);
/* Defaults for what was left 0: step, base batch, weight, grace. Call before the check.
 */
void job_spec_complete(struct job_spec *spec);

int job_spec_copy(struct job_spec *to, const struct job_spec *from);
void job_spec_release(struct job_spec *spec);

#endif
