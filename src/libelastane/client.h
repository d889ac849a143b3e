/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - the handle behind the public API; elastane.c guards it, client.c is it. */
#ifndef LIBELASTANE_CLIENT_H
#define LIBELASTANE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libelastane/elastane.h"
#include "wire/frame.h"
#include "wire/rank_msg.h"
#include "wire/rank_page.h"

struct elastane {
    int mode; /* enum elastane_mode */
    struct elastane_plan plan;
    char message[RANK_TEXT_BYTES];
    int64_t step;
    int64_t samples_done;

    int fd;                /* the channel; -1: none */
    uint32_t peer_version; /* that the shim speaks; 0: it has not said yet */
    struct frame_reader reader;
    uint8_t *page; /* mapped; NULL: none */
    size_t page_len;
    struct rank_slot *slot;
    uint32_t notices;  /* of the slot, as last seen */
    uint64_t *token;   /* 1 in our process, wiped to 0 in a forked child; NULL: no such
                          mapping */
    int64_t last_ns;   /* end of the last step; 0: the next step is not to be timed */
    int64_t looked_ns; /* when the socket was last looked at */

    int64_t stop_step; /* acknowledged: stop after it; -1: none */
    bool is_agreed;    /* all ranks acknowledged it */
    bool is_held;      /* SAVE was returned and not yet decided */
    bool is_stopping;  /* STOP came, or nobody is left to say so */
    bool must_end;     /* no verdict came in time: after the save comes the end */
};

/* Connects if the environment says where; otherwise, or when that fails, sets mode and
 * message. */
void client_open(struct elastane *e, int32_t default_batch);
void client_close(struct elastane *e);
/* True when the handle talks to a shim and we are its process. */
bool client_is_live(struct elastane *e);
/* From now on nobody is there. Returns ELASTANE_CONTINUE. */
int client_disable(struct elastane *e, const char *why);

int client_step(struct elastane *e);
int client_saved(struct elastane *e, const char *manifest);
int client_save_failed(struct elastane *e, const char *reason);
void client_tell(struct elastane *e, enum rank_msg_kind kind, int64_t samples_done,
                 int32_t micro_batch);
void client_observe(struct elastane *e, uint32_t what, int32_t micro_batch,
                    int64_t time_ns);

#endif
