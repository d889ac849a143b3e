/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - T_proc as a function of the micro-batch: the measured points made ready for
 * many questions.
 *
 * Between two knots the curve is a straight line, and there are no other corners: the
 * stretch below the first knot and the one beyond the last are straight too. row.c
 * depends on that. Times are in seconds, micro-batches in samples. */
#ifndef CORE_PERF_CURVE_H
#define CORE_PERF_CURVE_H

#include <stdint.h>

#include "core/perf/model.h"

struct curve {
    int32_t n; /* >= 1 */
    int32_t knots[PROC_POINTS_MAX];
    double seconds[PROC_POINTS_MAX]; /* non-decreasing, > 0 */
    double
        slopes[PROC_POINTS_MAX]; /* seconds per sample after knot i; the last repeats */
};

/* The model must have at least one point (n_proc > 0). */
void curve_init(struct curve *curve, const struct perf_model *model);

/* Seconds for one pass of m >= 1 samples; always > 0, never falling with m. */
double curve_at(const struct curve *curve, int32_t micro_batch);

#endif
