/* SPDX-License-Identifier: Apache-2.0 */
/* shim_msg.h - what daemon and shim tell each other (docs/protocol.md, section 2).
 *
 * The shim dials the daemon's socket, says HELLO first on every connection, and the
 * daemon answers ADOPT or REFUSE. Every message carries job and incarnation and may come
 * twice. One flat record serves all kinds; the comment at each kind names its fields, the
 * others are 0. Numbers and fields are append-only. */
#ifndef WIRE_SHIM_MSG_H
#define WIRE_SHIM_MSG_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/units.h"
#include "core/job.h"
#include "wire/frame.h"

#define SHIM_TEXT_BYTES     128 /* with the '\0' */
#define SHIM_MANIFEST_BYTES 64

enum shim_msg_kind {
    SHIM_MSG_NONE,
    /* From the shim. */
    SHIM_HELLO,   /* version, generation, phase, pid, size, ranks_up, samples_done, and,
                     in SHIM_ENDED, all of EXIT. Since text may name a broken save */
    SHIM_STARTED, /* generation, size: all ranks are up */
    SHIM_SAVED,   /* generation, step, samples_done, manifest: answer to SAVE; the ranks
                     wait, at most SHIM_VERDICT_US, for STOP or GO_ON */
    SHIM_SAVE_FAILED, /* generation, samples_done, text: answer to SAVE; the ranks train
                         on already */
    SHIM_EXIT,    /* generation, cause, exit_code, rank, samples_done, micro_batch, text:
                     every process has ended. Sent again until EXIT_ACK comes */
    SHIM_BEAT,    /* every SHIM_BEAT_US: generation, phase, ranks_up, step, samples_done,
                     time_ns (median of a step since the last beat), comm_bytes,
                     rate_milli, samples_total, text: what its trainer counts by
                     itself, and one sentence about that for people, or "";
                     warm_up_us */
    SHIM_OBSERVE, /* generation, size, rank, observed, micro_batch, count, time_ns,
                     is_noisy, accumulation, comm_bytes: settled measurements for the JSA
                   */
    SHIM_OOM, /* generation, rank, micro_batch: this micro-batch did not fit. A notice:
                 EXIT follows and says the same */
    /* From the daemon. */
    SHIM_ADOPT,    /* version: go on */
    SHIM_REFUSE,   /* text: no such incarnation (any more); end everything and leave */
    SHIM_SAVE,     /* grace_us: bring all ranks to one step boundary and save */
    SHIM_GO_ON,    /* SAVE is called off */
    SHIM_STOP,     /* grace_us: end the ranks; save before it if that has not been done */
    SHIM_EXIT_ACK, /* EXIT is durable on your side; leave */
    SHIM_MSG_MAX
};

enum shim_phase {
    SHIM_STARTING, /* ranks are being started, or not all have said hello */
    SHIM_RUNNING,
    SHIM_SAVING,   /* SAVE was asked for */
    SHIM_WAITING,  /* saved; the ranks wait for the verdict */
    SHIM_STOPPING, /* the grace runs */
    SHIM_ENDED,    /* exit.json is written */
    SHIM_PHASE_MAX
};

/* What an observation measured. */
enum shim_observed {
    SHIM_OBSERVED_STEP,  /* whole optimizer step, under the plan's micro_batch */
    SHIM_OBSERVED_MICRO, /* forward + backward of one micro-batch of that many samples */
    SHIM_OBSERVED_COMM,  /* all-reduce of one step; micro_batch 0 */
    SHIM_OBSERVED_MAX
};

#define SHIM_BEAT_US    USEC_PER_SEC        /* between two BEATs */
#define SHIM_LOST_US    (10 * USEC_PER_SEC) /* without a BEAT: the node counts as lost */
#define SHIM_VERDICT_US (10 * USEC_PER_SEC) /* ranks wait this long after a save */

struct shim_msg {
    enum shim_msg_kind kind;
    uint32_t job;
    uint32_t incarnation;
    uint32_t generation;
    uint32_t version; /* FRAME_VERSION of the sender */
    enum shim_phase phase;
    int32_t pid;  /* of the shim */
    int32_t size; /* ranks of the plan */
    int32_t ranks_up;
    int32_t rank; /* the first that failed, or whom it is about; -1: none */
    enum job_cause cause;
    int32_t exit_code; /* 128 + signal for one that a signal ended */
    int32_t micro_batch;
    int32_t accumulation; /* of the plan */
    enum shim_observed observed;
    int32_t count;    /* measurements behind time_ns */
    int32_t is_noisy; /* 1: never settled; the median of 50 was taken */
    int64_t step;
    int64_t samples_done; /* BEAT: trained; SAVED, EXIT: in the last whole checkpoint;
                             -1: no word */
    int64_t time_ns;
    int64_t rate_milli;    /* 1e-3 samples/s; 0: no word */
    int64_t samples_total; /* that the trainer will train; 0: no word */
    int64_t comm_bytes;    /* all-reduced per step; 0: not told */
    int64_t grace_us;
    int64_t warm_up_us; /* lost between STARTED and the steps that count; 0: no word */
    char manifest[SHIM_MANIFEST_BYTES]; /* file name of the checkpoint's manifest */
    char text[SHIM_TEXT_BYTES];         /* one sentence for people, or "" */
};

const char *shim_msg_kind_name(enum shim_msg_kind kind);
const char *shim_phase_name(enum shim_phase phase);

/* Writes one frame to out[FRAME_MAX]; returns its length. */
size_t shim_msg_encode(const struct shim_msg *msg, uint8_t *out);
/* E_CORRUPT: a field is cut off or outside its range. E_VERSION: a kind that we do not
 * know; ignore it. */
int shim_msg_decode(const struct frame *frame, struct shim_msg *ret) ATTR_MUST_USE;

#endif
