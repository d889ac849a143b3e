/* SPDX-License-Identifier: Apache-2.0 */
/* dryrun.h - what a job would get at each of its sizes: `elastane submit --dry-run`.
 *
 * The plans are those of the default policy, from core's row_build() with the stated
 * model, or with the prior when nothing is known. Nothing is sent and nothing made. */
#ifndef WIRE_DRYRUN_H
#define WIRE_DRYRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/job.h"
#include "core/perf/model.h"

struct dryrun_line {
    int32_t size;
    bool is_feasible;
    int32_t global_batch; /* 0: the job states no batch */
    int32_t micro_batch;
    int32_t accumulation;
    int32_t ranks_more; /* ranks with one sample more than the others; 0: all equal */
    int64_t lr_ppm;     /* factor on the learning rate of the base batch */
    int64_t speed_ppm;  /* S(k): relative to the best on one device */
    int64_t rate_milli; /* 1e-3 samples/s; 0 when nothing was measured */
    struct err why;     /* unless is_feasible */
};

/* When the daemon takes more than the base batch, or than the least size. */
enum dryrun_growth {
    DRYRUN_NEVER,         /* there is no range, or nothing will tell what it is worth */
    DRYRUN_AT_ONCE,       /* speeds are stated, or none are needed */
    DRYRUN_ONCE_MEASURED, /* first the job is measured while it trains */
    DRYRUN_GROWTH_MAX
};

struct dryrun {
    struct dryrun_line *lines; /* by size; owned */
    size_t n;
    size_t n_feasible;
    struct err why; /* of the job as a whole, when n_feasible is 0 */
    enum model_source source;
    enum dryrun_growth batch_growth;
    enum dryrun_growth size_growth;
};

/* The spec must be complete and checked. model may be NULL: the prior. Returns 0 (also
 * when nothing is feasible) or E_NOMEM. */
int dryrun_build(const struct job_spec *spec, const struct perf_model *model,
                 struct dryrun *ret);
void dryrun_release(struct dryrun *dryrun);

/* {"batch_growth":"once-measured","feasible":[1,2],"model":"prior","size_growth":...,
 * "sizes":[...]} and '\n'; docs/api.md has no part in it. */
int dryrun_encode(const struct dryrun *dryrun, struct buf *out, struct err *err);

#endif
