/* SPDX-License-Identifier: Apache-2.0 */
/* shim_msg.c - the field tables of the messages between daemon and shim.
 *
 * Job, incarnation and generation lead every message. A table may grow at its end and
 * nowhere else; shim_msg_test.c pins the lengths that were released. */
#include "wire/shim_msg.h"

#include <string.h>

#include "base/assert.h"
#include "base/err.h"

#define U32(member)  FRAME_FIELD(FRAME_U32, struct shim_msg, member)
#define I64(member)  FRAME_FIELD(FRAME_I64, struct shim_msg, member)
#define TEXT(member) FRAME_FIELD(FRAME_TEXT, struct shim_msg, member)
#define WHO          U32(job), U32(incarnation), U32(generation)
#define EXIT_FIELDS                                                                      \
    U32(cause), U32(exit_code), U32(rank), U32(micro_batch), I64(samples_done), TEXT(text)

static const struct frame_field hello[] = {
    WHO, U32(version), U32(phase), U32(pid), U32(size), U32(ranks_up), EXIT_FIELDS,
};
static const struct frame_field started[] = {WHO, U32(size)};
static const struct frame_field saved[] = {
    WHO,
    I64(step),
    I64(samples_done),
    TEXT(manifest),
};
static const struct frame_field save_failed[] = {WHO, I64(samples_done), TEXT(text)};
static const struct frame_field exited[] = {WHO, EXIT_FIELDS};
static const struct frame_field beat[] = {
    WHO,
    U32(phase),
    U32(ranks_up),
    I64(step),
    I64(samples_done),
    I64(time_ns),
    I64(comm_bytes),
    I64(rate_milli),
    I64(samples_total),
    TEXT(text),
    I64(warm_up_us),
};
static const struct frame_field observe[] = {
    WHO,        U32(size),    U32(rank),     U32(observed),     U32(micro_batch),
    U32(count), I64(time_ns), U32(is_noisy), U32(accumulation), I64(comm_bytes),
};
static const struct frame_field oom[] = {WHO, U32(rank), U32(micro_batch)};
static const struct frame_field adopt[] = {WHO, U32(version)};
static const struct frame_field refuse[] = {WHO, TEXT(text)};
static const struct frame_field graced[] = {WHO, I64(grace_us)};
static const struct frame_field bare[] = {WHO};

#define TABLE(fields)                                                                    \
    {                                                                                    \
        (fields), ARRAY_SIZE(fields)                                                     \
    }

static const struct {
    const char *name;
    struct frame_layout layout;
} kinds[SHIM_MSG_MAX] = {
    [SHIM_MSG_NONE] = {"none", TABLE(bare)},
    [SHIM_HELLO] = {"hello", TABLE(hello)},
    [SHIM_STARTED] = {"started", TABLE(started)},
    [SHIM_SAVED] = {"saved", TABLE(saved)},
    [SHIM_SAVE_FAILED] = {"save-failed", TABLE(save_failed)},
    [SHIM_EXIT] = {"exit", TABLE(exited)},
    [SHIM_BEAT] = {"beat", TABLE(beat)},
    [SHIM_OBSERVE] = {"observe", TABLE(observe)},
    [SHIM_OOM] = {"oom", TABLE(oom)},
    [SHIM_ADOPT] = {"adopt", TABLE(adopt)},
    [SHIM_REFUSE] = {"refuse", TABLE(refuse)},
    [SHIM_SAVE] = {"save", TABLE(graced)},
    [SHIM_GO_ON] = {"go-on", TABLE(bare)},
    [SHIM_STOP] = {"stop", TABLE(graced)},
    [SHIM_EXIT_ACK] = {"exit-ack", TABLE(bare)},
};

static const char *const phases[SHIM_PHASE_MAX] = {
    "starting", "running", "saving", "waiting", "stopping", "ended",
};

const char *shim_msg_kind_name(enum shim_msg_kind kind)
{
    ASSERT((unsigned)kind < SHIM_MSG_MAX);
    return kinds[kind].name;
}

const char *shim_phase_name(enum shim_phase phase)
{
    ASSERT((unsigned)phase < SHIM_PHASE_MAX);
    return phases[phase];
}

size_t shim_msg_encode(const struct shim_msg *msg, uint8_t *out)
{
    ASSERT(msg->kind > SHIM_MSG_NONE);
    ASSERT(msg->kind < SHIM_MSG_MAX);
    return frame_pack(out, (uint16_t)msg->kind, &kinds[msg->kind].layout, msg);
}

int shim_msg_decode(const struct frame *frame, struct shim_msg *ret)
{
    struct shim_msg msg;
    int rc;

    if (frame->kind == SHIM_MSG_NONE || frame->kind >= SHIM_MSG_MAX)
        return E_VERSION;
    memset(&msg, 0, sizeof(msg));
    msg.kind = (enum shim_msg_kind)frame->kind;
    rc = frame_unpack(frame, &kinds[msg.kind].layout, &msg);
    if (rc < 0)
        return rc;
    if ((unsigned)msg.phase >= SHIM_PHASE_MAX || (unsigned)msg.cause >= JOB_CAUSE_MAX ||
        (unsigned)msg.observed >= SHIM_OBSERVED_MAX)
        return E_CORRUPT;
    if (msg.size < 0 || msg.ranks_up < 0 || msg.rank < -1 || msg.micro_batch < 0 ||
        msg.accumulation < 0 || msg.count < 0 || msg.step < 0 || msg.samples_done < -1 ||
        msg.time_ns < 0 || msg.comm_bytes < 0 || msg.grace_us < 0 || msg.rate_milli < 0 ||
        msg.samples_total < 0 || msg.warm_up_us < 0)
        return E_CORRUPT;
    *ret = msg;
    return 0;
}
