/* SPDX-License-Identifier: Apache-2.0 */
/* rank_msg.c - the field tables of the messages between shim and ranks; the rules are
 * those of shim_msg.c. */
#include "wire/rank_msg.h"

#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/units.h"

#define U32(member)  FRAME_FIELD(FRAME_U32, struct rank_msg, member)
#define I64(member)  FRAME_FIELD(FRAME_I64, struct rank_msg, member)
#define TEXT(member) FRAME_FIELD(FRAME_TEXT, struct rank_msg, member)

static const struct frame_field hello[] = {
    U32(rank),
    U32(generation),
    U32(version),
    U32(pid),
};
static const struct frame_field at_step[] = {I64(step)};
static const struct frame_field saved[] = {I64(step), I64(samples_done), TEXT(manifest)};
static const struct frame_field save_failed[] = {I64(step), TEXT(text)};
static const struct frame_field oom[] = {U32(micro_batch)};
static const struct frame_field samples[] = {I64(samples_done)};
static const struct frame_field plan[] = {
    U32(rank),       U32(generation),   U32(version),     U32(slot),
    U32(size),       U32(global_batch), U32(micro_batch), U32(accumulation),
    U32(base_batch), U32(lr_rule),      I64(lr_from_ppm), I64(lr_to_ppm),
    I64(ramp_start), I64(ramp_samples), I64(grace_us),    U32(restart_count),
    TEXT(page),
};
static const struct frame_field text[] = {TEXT(text)};

#define TABLE(fields)                                                                    \
    {                                                                                    \
        (fields), ARRAY_SIZE(fields)                                                     \
    }

static const struct {
    const char *name;
    struct frame_layout layout;
} kinds[RANK_MSG_MAX - RANK_MSG_FIRST] = {
    [RANK_HELLO - RANK_MSG_FIRST] = {"hello", TABLE(hello)},
    [RANK_ACK - RANK_MSG_FIRST] = {"ack", TABLE(at_step)},
    [RANK_LATE - RANK_MSG_FIRST] = {"late", TABLE(at_step)},
    [RANK_SAVED - RANK_MSG_FIRST] = {"saved", TABLE(saved)},
    [RANK_SAVE_FAILED - RANK_MSG_FIRST] = {"save-failed", TABLE(save_failed)},
    [RANK_OOM - RANK_MSG_FIRST] = {"oom", TABLE(oom)},
    [RANK_DONE - RANK_MSG_FIRST] = {"done", TABLE(samples)},
    [RANK_RESUMED - RANK_MSG_FIRST] = {"resumed", TABLE(samples)},
    [RANK_PLAN - RANK_MSG_FIRST] = {"plan", TABLE(plan)},
    [RANK_PREPARE - RANK_MSG_FIRST] = {"prepare", TABLE(at_step)},
    [RANK_AGREED - RANK_MSG_FIRST] = {"agreed", TABLE(at_step)},
    [RANK_GO_ON - RANK_MSG_FIRST] = {"go-on", TABLE(text)},
    [RANK_STOP - RANK_MSG_FIRST] = {"stop", TABLE(text)},
    [RANK_WAIT - RANK_MSG_FIRST] = {"wait", TABLE(at_step)},
    [RANK_TURNED_AWAY - RANK_MSG_FIRST] = {"turned-away", TABLE(text)},
};

const char *rank_msg_kind_name(enum rank_msg_kind kind)
{
    ASSERT(kind >= RANK_MSG_FIRST);
    ASSERT(kind < RANK_MSG_MAX);
    return kinds[kind - RANK_MSG_FIRST].name;
}

size_t rank_msg_encode(const struct rank_msg *msg, uint8_t *out)
{
    ASSERT(msg->kind >= RANK_MSG_FIRST);
    ASSERT(msg->kind < RANK_MSG_MAX);
    return frame_pack(out, (uint16_t)msg->kind, &kinds[msg->kind - RANK_MSG_FIRST].layout,
                      msg);
}

int rank_msg_decode(const struct frame *frame, struct rank_msg *ret)
{
    struct rank_msg msg;
    int rc;

    if (frame->kind < RANK_MSG_FIRST || frame->kind >= RANK_MSG_MAX)
        return E_VERSION;
    memset(&msg, 0, sizeof(msg));
    msg.kind = (enum rank_msg_kind)frame->kind;
    rc = frame_unpack(frame, &kinds[msg.kind - RANK_MSG_FIRST].layout, &msg);
    if (rc < 0)
        return rc;
    if (msg.rank < 0 || msg.slot < 0 || msg.size < 0 || msg.global_batch < 0 ||
        msg.micro_batch < 0 || msg.accumulation < 0 || msg.base_batch < 0 ||
        msg.step < 0 || msg.samples_done < 0 || msg.ramp_samples < 0 || msg.grace_us < 0)
        return E_CORRUPT;
    *ret = msg;
    return 0;
}
