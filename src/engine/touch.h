/* SPDX-License-Identifier: Apache-2.0 */
/* touch.h - which jobs a step touches, how they stood before it, and the facts that it
 * makes. */
#ifndef ENGINE_TOUCH_H
#define ENGINE_TOUCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/change.h"
#include "core/core.h"
#include "engine/engine.h"

struct touch {
    uint32_t job;
    bool is_setup; /* its spec or its devices change, not its run record alone */
};

struct touches {
    struct touch *items; /* by job ascending, each once */
    size_t n;
    size_t cap;
    struct job *before; /* in step with items; all zero for a job that did not exist.
                           Without the launch text, which is the core's */
    size_t cap_before;
};

void touches_release(struct touches *t);
/* Fills t, whatever it held, with the jobs that the changes touch, as the core has them
 * now. Returns 0 or E_NOMEM. */
int touches_collect(struct touches *t, const struct core *core,
                    const struct changes *changes);
/* The index of the job, which must be there. */
size_t touches_index(const struct touches *t, uint32_t job);

struct facts {
    struct engine_fact *items; /* texts live in `text` */
    size_t n;
    size_t cap;
    size_t *offsets;
    size_t cap_offsets;
    const struct job_run **runs; /* scratch: the newest record of each touched job */
    size_t cap_runs;
    const struct job_spec **specs;
    size_t cap_specs;
    struct buf text;
};

void facts_init(struct facts *f);
void facts_release(struct facts *f);
/* Fills f with the facts of these changes, made to the core as it is now. Returns 0,
 * E_NOMEM or E_LIMIT. */
int facts_build(struct facts *f, const struct core *core, const struct touches *touches,
                const struct changes *changes, usec_t time_us);

#endif
