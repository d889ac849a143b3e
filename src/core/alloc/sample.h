/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - made-up allocation problems, for tests, benchmarks and `elastane bench`.
 *
 * A sample is a function of shape, numbers and the stream, the same on every machine. */
#ifndef CORE_ALLOC_SAMPLE_H
#define CORE_ALLOC_SAMPLE_H

#include <stdint.h>

#include "base/rng.h"
#include "core/alloc/alloc.h"

enum sample_shape {
    SAMPLE_CONCAVE,    /* every size, gains fall: jobs with a serial part (Amdahl) */
    SAMPLE_STEPS,      /* the same, but only powers of two bring anything */
    SAMPLE_NOISY,      /* the same, each value off by up to a tenth */
    SAMPLE_GAPPY,      /* noisy, half the sizes missing, minimums above one, waiting */
    SAMPLE_EQUAL,      /* adversarial: every device is worth the same everywhere */
    SAMPLE_CORRELATED, /* value = size and a constant, one option a row, all may wait */
    SAMPLE_GAP,        /* even sizes at equal ratios; one row could fill the odd device */
    SAMPLE_GAPS,       /* the same, with many such rows, each at a loss */
    SAMPLE_ONE_SIZE,   /* all options of one size */
    SAMPLE_HUGE,       /* values without a shape, up to the limit of the integers */
    SAMPLE_SHAPE_MAX
};

/* "concave" and so on. */
const char *sample_shape_name(enum sample_shape shape);

/* Fills n_rows rows of sizes up to max_size (>= 1). Each row's options stand in `options`
 * from row * max_size on, which has room for n_rows * max_size. Half of the rows hold one
 * of their sizes. */
void sample_fill(struct rng *rng, enum sample_shape shape, int32_t n_rows,
                 int32_t max_size, struct alloc_row *rows, struct alloc_option *options);

#endif
