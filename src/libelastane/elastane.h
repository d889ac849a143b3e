/* SPDX-License-Identifier: Apache-2.0 */
/* elastane.h - the training side of Elastane, for a process that trains.
 *
 * A training loop asks for its plan, draws the samples of each optimizer step from the
 * ledger, says after each step that it is done, and saves or ends when it is told to:
 *
 *     struct elastane *e;
 *     struct elastane_plan plan;
 *     int action = ELASTANE_CONTINUE;
 *
 *     elastane_init(64, &e);
 *     elastane_get_plan(e, &plan);
 *     ... load the checkpoint that elastane_checkpoint_latest() finds ...
 *     elastane_resume(e, samples_done);
 *     while (samples_done < total && action != ELASTANE_STOP) {
 *         elastane_next_batch(&plan, n, samples_done, &batch);
 *         ... train on batch.own_samples samples, learning rate times
 *             elastane_lr_factor(&plan, samples_done) ...
 *         samples_done += batch.samples;
 *         action = elastane_step(e, batch.samples);
 *         if (action == ELASTANE_SAVE)
 *             action = save(...) ? elastane_saved(e, info.manifest)
 *                                : elastane_save_failed(e, "disk full");
 *     }
 *     if (action != ELASTANE_STOP)
 *         elastane_done(e);
 *     elastane_free(e);
 *
 * Promises: links libc only, starts no thread, installs no signal handler, prints
 * nothing, never aborts; a mistake of its own disables it, and then every call behaves as
 * if nobody were there. Without ELASTANE_CHANNEL in the environment it does nothing at
 * all and the script runs as it would alone. elastane_step() makes no system call unless
 * the shim has something to say or a second has passed since it last looked, and costs
 * well below 20 microseconds.
 *
 * One handle belongs to one thread at a time. A child made by fork() has no use of it:
 * there it is disabled. All texts are UTF-8. Functions that return int give 0 (or an
 * action, >= 0) or a negative ELASTANE_E_*. */
#ifndef ELASTANE_H
#define ELASTANE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ELASTANE_API __attribute__((visibility("default")))
#else
#define ELASTANE_API
#endif

#define ELASTANE_API_VERSION 1

enum {
    ELASTANE_E_NOMEM = -1,    /* out of memory */
    ELASTANE_E_INVALID = -2,  /* an argument breaks a rule that stands at the function */
    ELASTANE_E_NOTFOUND = -3, /* no such thing */
    ELASTANE_E_LIMIT = -6,    /* a text or path is too long */
    ELASTANE_E_IO = -9,       /* the system refused; errno tells */
    ELASTANE_E_CORRUPT = -12, /* what was read contradicts itself */
};

/* What a training loop shall do next. */
enum elastane_action {
    ELASTANE_CONTINUE = 0, /* train on */
    ELASTANE_SAVE = 1,     /* all ranks stand at one step boundary: save, then say so with
                              elastane_saved() or elastane_save_failed(), and do what that
                              returns */
    ELASTANE_STOP = 2,     /* end the process with status 0 now */
};

enum elastane_mode {
    ELASTANE_ALONE = 0,       /* no channel: a script by itself */
    ELASTANE_CONNECTED = 1,   /* the shim gave us a plan */
    ELASTANE_TURNED_AWAY = 2, /* not wanted (any more): elastane_step() says STOP */
    ELASTANE_DISABLED =
        3, /* gave up; behaves as ALONE. elastane_get_message() says why */
};

/* What the trainer does between steps; hangs are looked for in TRAIN only. */
enum elastane_phase {
    ELASTANE_PHASE_TRAIN = 1,
    ELASTANE_PHASE_EVAL = 2,
    ELASTANE_PHASE_SAVE = 3,
    ELASTANE_PHASE_COMPILE = 4,
};

enum elastane_lr_rule {
    ELASTANE_LR_NONE = 0,   /* the factor is 1 */
    ELASTANE_LR_LINEAR = 1, /* B / base */
    ELASTANE_LR_SQRT = 2,   /* sqrt(B / base) */
};

/* Sent to every rank as one message; constant while the process lives. */
struct elastane_plan {
    uint32_t generation; /* rises with every change of members or batch; 0: alone */
    int32_t rank;        /* 0 .. size-1 */
    int32_t size;        /* ranks = devices */
    int32_t local_rank;  /* among the ranks of this node */
    int32_t
        global_batch;    /* B, samples per optimizer step over all ranks; 0: not stated */
    int32_t micro_batch; /* m, samples: the largest share of one pass; 0: not stated */
    int32_t accumulation;  /* a, passes per step */
    int32_t base_batch;    /* the batch for which the learning rate was chosen; 0: none */
    int32_t lr_rule;       /* enum elastane_lr_rule */
    int32_t restart_count; /* how often the job was started before */
    int64_t lr_from_ppm;   /* factor on the learning rate before this plan, in 1e-6 */
    int64_t lr_to_ppm;     /* factor of this plan, in 1e-6 */
    int64_t ramp_start;    /* samples done when this plan began */
    int64_t ramp_samples;  /* samples over which a larger factor is reached; 0: at once */
    int64_t grace_us;      /* between a stop notice and SIGKILL, microseconds */
};

struct elastane; /* opaque */

/* Connects, when ELASTANE_CHANNEL is set. default_batch >= 0 is the global batch of the
 * plan when nobody gives one. Waits at most 10 s for the shim's answer. On success *ret
 * is to be freed with elastane_free(); being turned away or unable to connect is no
 * failure (see elastane_get_mode()). ELASTANE_E_NOMEM or ELASTANE_E_INVALID. */
ELASTANE_API int elastane_init(int32_t default_batch, struct elastane **ret);
/* Closes; says nothing about success. NULL is allowed. */
ELASTANE_API void elastane_free(struct elastane *e);

ELASTANE_API int elastane_get_mode(const struct elastane *e); /* enum elastane_mode */
/* The last sentence for people (why turned away or disabled, why a save was asked for),
 * or
 * "". Lent until the next call. */
ELASTANE_API const char *elastane_get_message(const struct elastane *e);
ELASTANE_API void elastane_get_plan(const struct elastane *e, struct elastane_plan *ret);
/* Samples done as counted by resume and step. */
ELASTANE_API int64_t elastane_get_samples_done(const struct elastane *e);

/* Before the first step: where training takes up, 0 for a fresh start. Every rank calls.
 */
ELASTANE_API int elastane_resume(struct elastane *e, int64_t samples_done);

/* After each optimizer step, on every rank, also on one that had no samples. `samples` is
 * what the step consumed over all ranks. Returns an enum elastane_action. May wait for
 * the other ranks when a save was asked for, for this very step. */
ELASTANE_API int elastane_step(struct elastane *e, int64_t samples);

/* This rank's part of the state is safe. On the rank that wrote it `manifest` is the
 * checkpoint's manifest (a file name below 64 bytes), else NULL or "". After
 * ELASTANE_SAVE every rank must answer, also one that had nothing to write; the call then
 * waits for the verdict and returns CONTINUE or STOP. For a save of one's own accord it
 * returns CONTINUE at once. */
ELASTANE_API int elastane_saved(struct elastane *e, const char *manifest);
/* It could not be written; the reason is shown to the job's owner. Otherwise the same. */
ELASTANE_API int elastane_save_failed(struct elastane *e, const char *reason);

/* Training is complete: the process ends with status 0 soon, and whoever comes late is
 * turned away. */
ELASTANE_API void elastane_done(struct elastane *e);

/* enum elastane_phase. elastane_step() sets TRAIN again by itself. */
ELASTANE_API void elastane_set_phase(struct elastane *e, int phase);

/* Forward and backward of one micro-batch of so many samples took time_ns. */
ELASTANE_API void elastane_measured_micro(struct elastane *e, int32_t micro_batch,
                                          int64_t time_ns);
/* The all-reduce of one step took time_ns for so many bytes. */
ELASTANE_API void elastane_measured_comm(struct elastane *e, int64_t time_ns,
                                         int64_t bytes);
/* This many samples did not fit into the device's memory. The job is restarted from its
 * last checkpoint with a smaller micro-batch and the same global batch; end the process
 * with any status. */
ELASTANE_API void elastane_out_of_memory(struct elastane *e, int32_t micro_batch);

/* One optimizer step. Positions count all samples of all epochs: position p is sample
 * p mod n of epoch p / n, in that epoch's order. A batch never spans two epochs; an
 * epoch's last batch is the remainder. */
struct elastane_batch {
    int64_t epoch;
    int64_t position;     /* of the step's first sample */
    int32_t samples;      /* of all ranks: global_batch or the epoch's remainder */
    int32_t own_offset;   /* of this rank's first sample, within the step */
    int32_t own_samples;  /* may be 0: take part with weight 0 */
    int32_t accumulation; /* passes; elastane_pass() gives their samples */
    double weight;        /* own_samples / samples: the share of the gradient's mean */
};

/* ELASTANE_E_INVALID unless plan->global_batch, plan->size and dataset_size >= 1 and
 * samples_done >= 0. */
ELASTANE_API int elastane_next_batch(const struct elastane_plan *plan,
                                     int64_t dataset_size, int64_t samples_done,
                                     struct elastane_batch *ret);
/* Samples of pass `pass` (0 .. accumulation-1): as equal as possible, larger ones first.
 */
ELASTANE_API int32_t elastane_pass(const struct elastane_batch *batch, int32_t pass);
/* The same while a new job is measured: its first steps cut this rank's samples into
 * smaller passes, so that its speed is known for several sizes; the batch stays what it
 * is, and no pass is larger than elastane_pass() would have it. `step` counts from 0
 * since the job's very beginning; 0 passes are left when it returns 0. From step
 * ELASTANE_PROBE_STEPS on, for a step below 0, and where ELASTANE_PROFILE is set to
 * anything but "probe", these are the passes of elastane_pass(). */
#define ELASTANE_PROBE_STEPS 9
ELASTANE_API int32_t elastane_probe_pass(const struct elastane_batch *batch, int64_t step,
                                         int32_t pass);
/* Indices into the data set (0 .. dataset_size-1) of the positions position ..
 * position+count-1. The order of each epoch is a permutation keyed by (seed, epoch); it
 * depends on nothing else. */
ELASTANE_API int elastane_indices(uint64_t seed, int64_t dataset_size, int64_t position,
                                  int64_t count, int64_t *ret_indices);

/* Factor on the learning rate that was chosen for base_batch. Rises linearly from lr_from
 * to lr_to over ramp_samples; drops at once. */
ELASTANE_API double elastane_lr_factor(const struct elastane_plan *plan,
                                       int64_t samples_done);
/* The rule's factor for a batch, in 1e-6, rounded; 1000000 when base_batch or batch is 0.
 */
ELASTANE_API int64_t elastane_lr_rule_ppm(int lr_rule, int32_t base_batch, int32_t batch);

#define ELASTANE_PATH_BYTES     1024
#define ELASTANE_MANIFEST_BYTES 64

/* The ledger that a checkpoint carries, and where it lies. */
struct elastane_checkpoint {
    int64_t samples_done;
    int64_t dataset_size; /* 0: not told */
    uint64_t seed;
    int64_t step;        /* the trainer's own count; 0 if it has none */
    uint32_t generation; /* that wrote it */
    int64_t data_bytes;  /* filled in by commit and latest */
    char manifest[ELASTANE_MANIFEST_BYTES]; /* file name in dir; likewise */
    char path[ELASTANE_PATH_BYTES];         /* of the data; likewise */
};

/* Names a fresh temporary file in dir (made when missing, 0700); the caller writes the
 * state to it. Leftovers of earlier attempts are removed. One writer per directory. */
ELASTANE_API int elastane_checkpoint_begin(const char *dir, char *ret_path, size_t cap);
/* Makes it durable: fsync, rename, manifest with checksums, fsync of the directory; only
 * then are checkpoints older than the previous one removed. On failure the temporary file
 * is removed and the last good checkpoint is as it was. Fills manifest, path and
 * data_bytes. ELASTANE_E_IO, _LIMIT or _INVALID. */
ELASTANE_API int elastane_checkpoint_commit(const char *dir, const char *temporary,
                                            struct elastane_checkpoint *checkpoint);
/* Removes the temporary file of a save that failed. */
ELASTANE_API void elastane_checkpoint_abandon(const char *temporary);
/* The newest checkpoint whose manifest and data are whole; torn or damaged ones are
 * passed over. ELASTANE_E_NOTFOUND when there is none. */
ELASTANE_API int elastane_checkpoint_latest(const char *dir,
                                            struct elastane_checkpoint *ret);

#ifdef __cplusplus
}
#endif

#endif
