/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - T_proc and T_comm out of whole steps.
 *
 * T_step(k) = a * T_proc(m) + T_comm(k), and one number does not say how it is divided.
 * The smallest size of which a step is known, the anchor, is taken to communicate
 * nothing: T_proc(m) is its step divided by its passes. At every other size k the rest
 * belongs to communication, T_comm(k) = max(0, T_step(k) - a * T_proc(m)). When the
 * anchor is one device this is exact; else it only says how much more k devices
 * communicate than the anchor does, and that is all that a comparison of measured sizes
 * needs. Invariants:
 *   1. steps[] stays strictly ascending by (size, micro_batch); when it is full, the
 * nearest step gives way, but never the anchor.
 *   2. proc[] and comm[] are a function of steps[] alone, so the order of the reports
 *      does not matter, and a smaller size that comes late becomes the anchor.
 *   3. Every measured step comes out of the model as it was measured, with two
 * exceptions: several micro-batches of one size above the anchor have one T_comm, the
 * largest; and a step that is faster than passes of as many samples were at the anchor
 * costs what those did. Where they had more samples there, the curve is lowered. */
#include "core/perf/steps.h"

#include <string.h>

#include "base/assert.h"
#include "base/units.h"

#define STEP_MAX_NS (INT64_C(366) * 86400 * 1000000000)

bool step_is_sound(const struct learn_observation *seen)
{
    return seen->size >= 1 && seen->size <= SIZE_MAX_DEVICES && seen->micro_batch >= 1 &&
           seen->micro_batch <= BATCH_MAX && seen->accumulation >= 1 &&
           seen->accumulation <= BATCH_MAX && seen->time_ns >= 1 &&
           seen->time_ns <= STEP_MAX_NS;
}

/* Seconds of the passes of a step, by the curve as it is. */
static double passes_s(const struct perf_model *model, const struct step_point *p)
{
    return (double)p->accumulation * model_t_proc(model, p->micro_batch);
}

/* A step above the anchor that is faster than its passes are there: with so few samples a
 * pass is that much faster. Nothing can be said when a pass of as many was measured. */
static void lower_curve(struct perf_model *model, const struct step_point *p)
{
    int32_t i = 0;

    if ((double)p->time_ns / 1e9 >= passes_s(model, p))
        return;
    while (i < model->n_proc && model->proc[i].micro_batch < p->micro_batch)
        i++;
    if (i < model->n_proc && model->proc[i].micro_batch == p->micro_batch)
        return;
    memmove(model->proc + i + 1, model->proc + i,
            (size_t)(model->n_proc - i) * sizeof *model->proc);
    model->proc[i] =
        (struct proc_point){p->micro_batch, i64_max(1, p->time_ns / p->accumulation)};
    model->n_proc++;
}

static void put_rest(struct perf_model *model, const struct step_point *p)
{
    double rest_ns = (double)p->time_ns - passes_s(model, p) * 1e9;
    int64_t time_ns = i64_max(0, (int64_t)rest_ns);
    struct comm_point *last = model->n_comm > 0 ? model->comm + model->n_comm - 1 : NULL;

    if (last && last->size == p->size)
        last->time_ns = i64_max(last->time_ns, time_ns);
    else
        model->comm[model->n_comm++] = (struct comm_point){p->size, time_ns};
}

static void derive(struct perf_model *model)
{
    const struct step_point *steps = model->steps;
    int32_t anchor = steps[0].size;
    int32_t first = 0; /* above the anchor */

    model->comm_form = MODEL_COMM_TABLE;
    model->n_proc = model->n_comm = 0;
    for (; first < model->n_steps && steps[first].size == anchor; first++)
        model->proc[model->n_proc++] = (struct proc_point){
            steps[first].micro_batch,
            i64_max(1, steps[first].time_ns / steps[first].accumulation)};
    for (int32_t i = first; i < model->n_steps; i++)
        lower_curve(model, &steps[i]);
    if (anchor > 1)
        model->comm[model->n_comm++] = (struct comm_point){anchor, 0};
    for (int32_t i = first; i < model->n_steps; i++)
        put_rest(model, &steps[i]);
}

static int order_of(const struct step_point *p, const struct learn_observation *seen)
{
    if (p->size != seen->size)
        return p->size < seen->size ? -1 : 1;
    return (p->micro_batch > seen->micro_batch) - (p->micro_batch < seen->micro_batch);
}

/* Which of two neighbours, at i - 1 and i, gives way: the one of the same size, else the
 * nearer one; index 0 only to a smaller size. */
static int32_t nearest(const struct perf_model *model, int32_t i,
                       const struct learn_observation *seen)
{
    const struct step_point *p = model->steps;

    if (i == model->n_steps)
        return i - 1;
    if (i <= 1 || p[i].size == seen->size)
        return i;
    if (p[i - 1].size == seen->size ||
        seen->size - p[i - 1].size < p[i].size - seen->size)
        return i - 1;
    return i;
}

/* Index for the step; makes room for it when there is none. */
static int32_t slot(struct perf_model *model, const struct learn_observation *seen,
                    bool *ret_is_new)
{
    int32_t i = 0;

    while (i < model->n_steps && order_of(&model->steps[i], seen) < 0)
        i++;
    *ret_is_new = i == model->n_steps || order_of(&model->steps[i], seen) != 0;
    if (!*ret_is_new)
        return i;
    if (model->n_steps == STEP_POINTS_MAX)
        return nearest(model, i, seen);
    memmove(model->steps + i + 1, model->steps + i,
            (size_t)(model->n_steps - i) * sizeof *model->steps);
    model->n_steps++;
    return i;
}

bool steps_put(struct perf_model *model, const struct learn_observation *seen)
{
    struct step_point *p;
    bool is_new;

    ASSERT(step_is_sound(seen));
    p = &model->steps[slot(model, seen, &is_new)];
    if (!is_new && p->accumulation == seen->accumulation &&
        learn_distance_ppm(p->time_ns, seen->time_ns) <= LEARN_CHANGE_PPM)
        return false;
    *p = (struct step_point){seen->size, seen->micro_batch, seen->accumulation,
                             seen->time_ns};
    model->is_noisy = seen->is_noisy;
    derive(model);
    ASSERT(model->n_proc >= 1 && model->n_proc <= PROC_POINTS_MAX);
    ASSERT(model->n_comm <= COMM_POINTS_MAX);
    return true;
}

/* The best samples per second at a size, and the index behind its last step. */
static double rate_at(const struct perf_model *model, int32_t i, int32_t *ret_end)
{
    const struct step_point *p = model->steps;
    int32_t size = p[i].size;
    double best = 0.0;

    for (; i < model->n_steps && p[i].size == size; i++) {
        double samples = (double)size * (double)p[i].micro_batch;
        double rate = samples * (double)p[i].accumulation / (double)p[i].time_ns;

        best = rate > best ? rate : best;
    }
    *ret_end = i;
    return best;
}

int32_t steps_next_trial(const struct perf_model *model, const struct size_set *sizes)
{
    int32_t least = model->n_steps > 0 ? model->steps[0].size : 0;
    int32_t next;
    double rate;

    if (least <= sizes->min)
        return 0;
    rate = rate_at(model, 0, &next);
    if (next < model->n_steps && rate_at(model, next, &next) > rate)
        return 0;
    return size_set_last(sizes, i32_max(least / 2, sizes->min));
}
