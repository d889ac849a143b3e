/* SPDX-License-Identifier: Apache-2.0 */
/* frame_fuzz.c - bytes as a stream of frames, cut anywhere, and each frame as a message
 * of the daemon, the shim or a rank.
 *
 * The first byte says how long the pieces are in which the stream arrives. What decodes
 * must survive another trip: encoded, decoded and encoded again it is the same bytes. */
#include <string.h>

#include "base/assert.h"
#include "wire/rank_msg.h"
#include "wire/shim_msg.h"

#include "fuzz.h"

/* The one frame in bytes[0..n). */
static struct frame only_frame(struct frame_reader *reader, const uint8_t *bytes,
                               size_t n)
{
    struct frame frame = {0};
    size_t room;
    uint8_t *to = frame_reader_space(reader, &room);
    int rc;

    ASSERT(n <= room);
    memcpy(to, bytes, n);
    frame_reader_added(reader, n);
    rc = frame_reader_next(reader, &frame);
    ASSERT(rc == 1);
    return frame;
}

static void try_shim(const struct frame *frame)
{
    struct frame_reader reader = {.begin = 0};
    struct shim_msg msg, again;
    uint8_t first[FRAME_MAX], second[FRAME_MAX];
    struct frame copy;
    size_t n;
    int rc;

    if (shim_msg_decode(frame, &msg) < 0)
        return;
    n = shim_msg_encode(&msg, first);
    copy = only_frame(&reader, first, n);
    rc = shim_msg_decode(&copy, &again);
    ASSERT(rc == 0);
    ASSERT(shim_msg_encode(&again, second) == n);
    ASSERT(memcmp(first, second, n) == 0);
}

static void try_rank(const struct frame *frame)
{
    struct frame_reader reader = {.begin = 0};
    struct rank_msg msg, again;
    uint8_t first[FRAME_MAX], second[FRAME_MAX];
    struct frame copy;
    size_t n;
    int rc;

    if (rank_msg_decode(frame, &msg) < 0)
        return;
    n = rank_msg_encode(&msg, first);
    copy = only_frame(&reader, first, n);
    rc = rank_msg_decode(&copy, &again);
    ASSERT(rc == 0);
    ASSERT(rank_msg_encode(&again, second) == n);
    ASSERT(memcmp(first, second, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct frame_reader reader = {.begin = 0};
    struct frame frame;
    size_t piece = n > 0 ? (size_t)bytes[0] + 1 : 1;
    size_t at = 1;
    int rc = 0;

    while (rc >= 0 && at < n) {
        size_t room;
        uint8_t *to = frame_reader_space(&reader, &room);
        size_t take = n - at < piece ? n - at : piece;

        take = take < room ? take : room;
        memcpy(to, bytes + at, take);
        frame_reader_added(&reader, take);
        at += take;
        while ((rc = frame_reader_next(&reader, &frame)) > 0) {
            try_shim(&frame);
            try_rank(&frame);
        }
    }
    return 0;
}
