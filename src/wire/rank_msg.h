/* SPDX-License-Identifier: Apache-2.0 */
/* rank_msg.h - what shim and ranks tell each other (docs/protocol.md, section 3).
 *
 * A rank dials ELASTANE_CHANNEL and says HELLO; the shim answers PLAN or TURNED_AWAY.
 * Steps do not travel here but through the shared page (wire/rank_page.h). One flat
 * record, as in shim_msg.h; numbers and fields are append-only, and the kinds lie apart
 * from those of the daemon, so that a socket mixed up is noticed at once. */
#ifndef WIRE_RANK_MSG_H
#define WIRE_RANK_MSG_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "wire/frame.h"

#define RANK_TEXT_BYTES     128 /* with the '\0' */
#define RANK_MANIFEST_BYTES 64
#define RANK_PATH_BYTES     512

enum rank_msg_kind {
    RANK_MSG_FIRST = 64,
    /* From a rank. */
    RANK_HELLO = RANK_MSG_FIRST, /* rank, generation, version, pid */
    RANK_ACK,                    /* step: I shall stop there */
    RANK_LATE,                   /* step: I am past it already, at this one */
    RANK_SAVED,       /* step, samples_done, manifest: my part of the state is safe */
    RANK_SAVE_FAILED, /* step, text */
    RANK_OOM,         /* micro_batch: this many samples did not fit */
    RANK_DONE,        /* samples_done: training is complete; I shall exit 0 */
    RANK_RESUMED,     /* samples_done: the checkpoint that I took up */
    /* From the shim. */
    RANK_PLAN,        /* all of the plan, and slot */
    RANK_PREPARE,     /* step: stop after it. May come again with a larger one */
    RANK_AGREED,      /* step: all ranks acknowledged it; save there */
    RANK_GO_ON,       /* PREPARE is called off; train on */
    RANK_STOP,        /* exit 0 now */
    RANK_WAIT,        /* the verdict is being made; sent while others still save */
    RANK_TURNED_AWAY, /* text: an older generation, a completed job, a taken rank */
    RANK_MSG_MAX
};

struct rank_msg {
    enum rank_msg_kind kind;
    uint32_t generation;
    uint32_t version;
    int32_t rank;
    int32_t pid;
    int32_t slot; /* index of the rank's slot in the page */
    int32_t size;
    int32_t global_batch;
    int32_t micro_batch;
    int32_t accumulation;
    int32_t base_batch;
    uint32_t lr_rule; /* enum job_lr_rule */
    int64_t lr_from_ppm;
    int64_t lr_to_ppm;
    int64_t ramp_start;   /* samples */
    int64_t ramp_samples; /* 0: at once */
    int64_t grace_us;
    int64_t step;
    int64_t samples_done;
    int32_t restart_count;
    char page[RANK_PATH_BYTES]; /* file name of the shared page, beside the channel */
    char manifest[RANK_MANIFEST_BYTES];
    char text[RANK_TEXT_BYTES];
};

const char *rank_msg_kind_name(enum rank_msg_kind kind);

/* As shim_msg_encode and shim_msg_decode. */
size_t rank_msg_encode(const struct rank_msg *msg, uint8_t *out);
int rank_msg_decode(const struct frame *frame, struct rank_msg *ret) ATTR_MUST_USE;

#endif
