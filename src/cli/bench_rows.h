/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rows.h - allocation problems by the thousand, drawn from a seed. */
#ifndef CLI_BENCH_ROWS_H
#define CLI_BENCH_ROWS_H

#include <stdint.h>

#include "base/attr.h"
#include "core/alloc/alloc.h"

enum bench_shape {
    BENCH_CONCAVE,     /* every device more gains less than the one before */
    BENCH_STEPS,       /* N logical workers on k devices: N / ceil(N / k), a staircase */
    BENCH_NOISY,       /* measured speeds: dips, missing sizes, least sizes above one */
    BENCH_ADVERSARIAL, /* a few large sizes, worth the same per device all but exactly */
    BENCH_SHAPE_MAX
};

struct bench_rows {
    struct alloc_problem problem; /* its rows and options are owned */
    struct alloc_option *options;
    int64_t n_options;
};

const char *bench_shape_name(enum bench_shape shape);

/* jobs 1 .. JOBS_MAX, devices 1 .. DEVICES_MAX, max_size 1 .. SIZE_MAX_DEVICES. Where the
 * least sizes do not fit together, all jobs may wait. E_NOMEM. */
int bench_rows_make(struct bench_rows *rows, enum bench_shape shape, int32_t jobs,
                    int32_t devices, int32_t max_size, uint64_t seed) ATTR_MUST_USE;
void bench_rows_release(struct bench_rows *rows);

#endif
