/* SPDX-License-Identifier: Apache-2.0 */
/* agree.h - bringing all ranks to one step boundary, and knowing that all have saved.
 *
 * Pure: the shim feeds in what ranks said and sends what this module concludes. */
#ifndef SHIM_AGREE_H
#define SHIM_AGREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "wire/shim_msg.h"

enum agree_state {
    AGREE_NONE,
    AGREE_ASKING, /* PREPARE is out; not all have acknowledged the step */
    AGREE_SAVING, /* all stop at the step; not all have saved */
    AGREE_HELD,   /* all have saved and wait for the verdict */
};

struct agree {
    enum agree_state state;
    int32_t n_ranks;
    int64_t step;   /* after which all stop */
    int64_t margin; /* added at the next raise */
    uint8_t *marks; /* per rank: it acknowledged (ASKING), it saved (SAVING); owned */
    int32_t n_marked;
    int64_t samples_done; /* as rank 0 saved them */
    char manifest[SHIM_MANIFEST_BYTES];
};

/* E_NOMEM. */
int agree_init(struct agree *agree, int32_t n_ranks) ATTR_MUST_USE;
void agree_release(struct agree *agree);

/* Begins anew; largest_step is the largest that any rank is known to have finished.
 * PREPARE(agree->step) goes to all. */
void agree_begin(struct agree *agree, int64_t largest_step);
/* True: that was the last one; AGREED goes to all. */
bool agree_ack(struct agree *agree, int32_t rank, int64_t step);
/* True: the step was raised; PREPARE(agree->step) goes to all again. */
bool agree_late(struct agree *agree, int64_t step);
/* True: that was the last one; all are held. manifest may be "". A save of another step
 * is one of the trainer's own accord and does not count. */
bool agree_saved(struct agree *agree, int32_t rank, int64_t step, int64_t samples_done,
                 const char *manifest);
/* Called off, or carried out. */
void agree_end(struct agree *agree);
/* A rank (index) whose answer is missing, or -1. */
int32_t agree_missing(const struct agree *agree);

#endif
