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

struct story {
    struct buf *out; /* lent */
    usec_t zero_us;  /* printed as [0:00:00] */
    int name_width;  /* of the widest job or node name that will come; at least 3 */
};

/* A watch port that appends lines to story->out. */
struct engine_watch_port story_watch(struct story *story);

#endif
