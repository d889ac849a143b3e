/* SPDX-License-Identifier: Apache-2.0 */
/* curve.c - the time of one pass, from a few measured points.
 *
 * Source: seed-paper.md section 3. More samples never take less time, so a point that
 * measured faster than a smaller one is lifted to it (running maximum). Between points
 * the time is interpolated, beyond the last one the last segment goes on. Two places need
 * a decision of ours:
 *
 *   Below the first point (m < m0) the first segment goes on, but not below the
 *   proportional share t0 * m / m0: a pass has a constant part, it is not negative, and
 *   so a small pass costs at least its share. Both lines meet in the first point, hence
 *   one of them holds for the whole stretch and no new corner appears.
 *
 *   With one point the constant part is not known, and the share t0 * m / m0 is all that
 *   can be said: a device is then equally fast with every micro-batch. That is too
 *   hopeful for smaller and too careful for larger ones, and it makes no batch look
 *   better than another by a guess.
 *
 * Invariants: 1. seconds[] never falls and is positive. 2. curve_at() equals seconds[i]
 * exactly at knots[i]. */
#include "core/perf/curve.h"

#include "base/assert.h"

#define NS_PER_SEC 1e9

void curve_init(struct curve *curve, const struct perf_model *model)
{
    double least = 0.0;

    ASSERT(model->n_proc > 0);
    ASSERT(model->n_proc <= PROC_POINTS_MAX);
    curve->n = model->n_proc;
    for (int32_t i = 0; i < model->n_proc; i++) {
        double t = (double)model->proc[i].time_ns / NS_PER_SEC;

        least = t > least ? t : least;
        curve->knots[i] = model->proc[i].micro_batch;
        curve->seconds[i] = least;
    }
    ASSERT(curve->seconds[0] > 0.0);
    curve->slopes[0] = curve->seconds[0] / (double)curve->knots[0];
    for (int32_t i = 0; i + 1 < curve->n; i++) {
        double rise = curve->seconds[i + 1] - curve->seconds[i];

        curve->slopes[i] = rise / (double)(curve->knots[i + 1] - curve->knots[i]);
        curve->slopes[i + 1] = curve->slopes[i];
    }
}

double curve_at(const struct curve *curve, int32_t micro_batch)
{
    double first = curve->seconds[0];
    double share, line;
    int32_t i = 0;

    ASSERT(micro_batch >= 1);
    if (micro_batch < curve->knots[0] || curve->n == 1) {
        share = first * (double)micro_batch / (double)curve->knots[0];
        line = first + curve->slopes[0] * (double)(micro_batch - curve->knots[0]);
        return curve->n > 1 && line > share ? line : share;
    }
    while (i + 1 < curve->n && curve->knots[i + 1] <= micro_batch)
        i++;
    return curve->seconds[i] + curve->slopes[i] * (double)(micro_batch - curve->knots[i]);
}
