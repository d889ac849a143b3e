/* SPDX-License-Identifier: Apache-2.0 */
/* learn.c - medians in, a model out.
 *
 * The paper's way: T_proc(m) is a table over the micro-batches that were tried, T_comm a
 * table over sizes; a new median replaces the old point. Invariants:
 *   1. proc[] and comm[] stay strictly ascending and within their maximum; when they are
 *      full, the point nearest to the new one gives way.
 *   2. Predicted and observed values are never mixed in one ratio: the first measurement
 * of a job that had only a prior makes the model MEASURED. A family's profile becomes the
 *      job's own with the first value that agrees with it; one that is off by more than
 * 25 % over 20 valid steps, or was measured with another number of parameters, is thrown
 *      away as a whole; until then what contradicts it is counted and not mixed in.
 *   3. A negative estimate of T_comm (a busy machine) is 0.
 * Where a job reports whole steps only, steps.c makes the model of them. The first finer
 * measurement ends that: what the steps implied is dropped, not mixed with it, and steps
 * count no longer. */
#include "core/perf/learn.h"

#include <string.h>

#include "base/assert.h"
#include "base/units.h"
#include "core/perf/steps.h"

int64_t learn_distance_ppm(int64_t a, int64_t b)
{
    int64_t larger = i64_max(a, b);
    int64_t gap = a > b ? a - b : b - a;

    return larger > 0 ? (int64_t)((double)gap * 1e6 / (double)larger) : 0;
}

/* Index of the point for this micro-batch; makes room for it when there is none. */
static int32_t proc_slot(struct perf_model *model, int32_t micro_batch, bool *ret_is_new)
{
    int32_t i = 0;

    while (i < model->n_proc && model->proc[i].micro_batch < micro_batch)
        i++;
    *ret_is_new = i == model->n_proc || model->proc[i].micro_batch != micro_batch;
    if (!*ret_is_new)
        return i;
    if (model->n_proc == PROC_POINTS_MAX) {
        if (i == model->n_proc || (i > 0 && micro_batch - model->proc[i - 1].micro_batch <
                                                model->proc[i].micro_batch - micro_batch))
            i--;
        return i; /* the nearest point gives way */
    }
    memmove(model->proc + i + 1, model->proc + i,
            (size_t)(model->n_proc - i) * sizeof *model->proc);
    model->n_proc++;
    return i;
}

static int32_t comm_slot(struct perf_model *model, int32_t size, bool *ret_is_new)
{
    int32_t i = 0;

    while (i < model->n_comm && model->comm[i].size < size)
        i++;
    *ret_is_new = i == model->n_comm || model->comm[i].size != size;
    if (!*ret_is_new)
        return i;
    if (model->n_comm == COMM_POINTS_MAX) {
        if (i == model->n_comm ||
            (i > 0 && size - model->comm[i - 1].size < model->comm[i].size - size))
            i--;
        return i;
    }
    memmove(model->comm + i + 1, model->comm + i,
            (size_t)(model->n_comm - i) * sizeof *model->comm);
    model->n_comm++;
    return i;
}

/* Whether the job's own steps say something else than the profile of its family. */
static bool contradicts(const struct perf_model *model,
                        const struct learn_observation *seen)
{
    double expected = model_t_proc(model, seen->micro_batch);
    int64_t expected_ns;

    if (seen->kind == LEARN_STEP)
        expected =
            (double)seen->accumulation * expected + model_t_comm(model, seen->size, 1);
    expected_ns = (int64_t)(expected * 1e9);
    return learn_distance_ppm(expected_ns, seen->time_ns) > LEARN_DISTRUST_PPM;
}

static void forget(struct perf_model *model)
{
    *model = (struct perf_model){
        .micro_limit = model->micro_limit,
        .comm_bytes = model->comm_bytes,
    };
}

/* What whole steps implied gives way to something finer. */
static void drop_steps(struct perf_model *model)
{
    int32_t largest_size = model->largest_size;

    if (model->n_steps == 0)
        return;
    forget(model);
    model->largest_size = largest_size;
}

/* Whether the profile of its family still stands for the job, after this observation:
 * until LEARN_VALID_STEPS values contradict it, then it is forgotten as a whole. */
static bool stands_by_profile(struct perf_model *model,
                              const struct learn_observation *seen)
{
    if (model->source != MODEL_FAMILY || model->n_proc == 0 || !contradicts(model, seen))
        return false;
    model->n_off += i32_min(i32_max(seen->count, 0), LEARN_VALID_STEPS);
    if (model->n_off < LEARN_VALID_STEPS)
        return true;
    forget(model);
    return false;
}

static bool put_proc(struct perf_model *model, const struct learn_observation *seen)
{
    int32_t i;
    bool is_new;
    bool changed = false;

    if (seen->micro_batch < 1 || seen->micro_batch > BATCH_MAX || seen->time_ns <= 0)
        return false;
    if (stands_by_profile(model, seen))
        return false;
    drop_steps(model);
    model->n_off = 0;
    if (model->source != MODEL_MEASURED) {
        model->source = MODEL_MEASURED;
        changed = true;
    }
    i = proc_slot(model, seen->micro_batch, &is_new);
    if (is_new ||
        learn_distance_ppm(model->proc[i].time_ns, seen->time_ns) > LEARN_CHANGE_PPM) {
        model->proc[i] = (struct proc_point){seen->micro_batch, seen->time_ns};
        model->is_noisy = seen->is_noisy;
        changed = true;
    }
    return changed;
}

static bool put_comm(struct perf_model *model, const struct learn_observation *seen)
{
    int64_t time_ns = i64_max(0, seen->time_ns);
    int32_t i;
    bool is_new;

    if (seen->size < 2 || seen->size > SIZE_MAX_DEVICES)
        return false;
    drop_steps(model);
    model->comm_form = MODEL_COMM_TABLE;
    i = comm_slot(model, seen->size, &is_new);
    if (!is_new &&
        learn_distance_ppm(model->comm[i].time_ns, time_ns) <= LEARN_CHANGE_PPM)
        return false;
    model->comm[i] = (struct comm_point){seen->size, time_ns};
    return true;
}

static bool put_step(struct perf_model *model, const struct learn_observation *seen)
{
    bool is_finer = model->n_proc > 0 && model->n_steps == 0;
    bool was_measured;

    if (!step_is_sound(seen) || (is_finer && model->source == MODEL_MEASURED))
        return false;
    if (is_finer && seen->size > 1)
        return false; /* how a profile divides such a step is another question */
    if (stands_by_profile(model, seen))
        return false;
    was_measured = model->source == MODEL_MEASURED;
    model->n_off = 0;
    model->source = MODEL_MEASURED;
    if (model->n_proc > 0 && model->n_steps == 0)
        return true; /* it agrees with a finer profile, which is the job's own now */
    return steps_put(model, seen) || !was_measured;
}

static bool put_kind(struct perf_model *model, const struct learn_observation *seen)
{
    switch (seen->kind) {
    case LEARN_MICRO:
        return put_proc(model, seen);
    case LEARN_COMM:
        return put_comm(model, seen);
    case LEARN_STEP:
        return put_step(model, seen);
    }
    return false;
}

bool learn_observe(struct perf_model *model, const struct learn_observation *seen)
{
    bool changed = false;

    if (seen->size < 1 || seen->size > SIZE_MAX_DEVICES)
        return false;
    if (seen->comm_bytes > 0 && seen->comm_bytes != model->comm_bytes) {
        if (model->source == MODEL_FAMILY && model->comm_bytes > 0)
            *model = (struct perf_model){0}; /* other parameters: another family */
        model->comm_bytes = seen->comm_bytes;
        changed = true;
    }
    if (model->source != MODEL_STATED)
        changed |= put_kind(model, seen);
    if (seen->size > model->largest_size) {
        model->largest_size = seen->size;
        changed = true;
    }
    ASSERT(model->n_proc <= PROC_POINTS_MAX);
    ASSERT(model->n_comm <= COMM_POINTS_MAX);
    return changed;
}

bool learn_out_of_memory(struct perf_model *model, int32_t micro_batch)
{
    int32_t ceiling = i32_max(1, micro_batch / 2);

    if (micro_batch < 1 || (model->micro_limit > 0 && model->micro_limit <= ceiling))
        return false;
    model->micro_limit = ceiling;
    return true;
}

/* Linear through (x0, y0) and (x1, y1), at x; not below 0. */
static double line(double x0, double y0, double x1, double y1, double x)
{
    double y = y0 + (y1 - y0) * ((x - x0) / (x1 - x0));

    return y > 0.0 ? y : 0.0;
}

static double along_bytes(const struct calibration *c, int32_t row, int64_t bytes)
{
    int32_t i = 1;

    if (c->n_bytes == 1)
        return (double)c->time_ns[row][0];
    while (i < c->n_bytes - 1 && c->bytes[i] < bytes)
        i++;
    return line((double)c->bytes[i - 1], (double)c->time_ns[row][i - 1],
                (double)c->bytes[i], (double)c->time_ns[row][i], (double)bytes);
}

int64_t calibration_time_ns(const struct calibration *c, int32_t size, int64_t bytes)
{
    int32_t i = 1;

    ASSERT(c->n_sizes > 0);
    ASSERT(c->n_bytes > 0);
    if (size < 2)
        return 0;
    if (c->n_sizes == 1)
        return (int64_t)along_bytes(c, 0, bytes);
    while (i < c->n_sizes - 1 && c->sizes[i] < size)
        i++;
    return (int64_t)line((double)c->sizes[i - 1], along_bytes(c, i - 1, bytes),
                         (double)c->sizes[i], along_bytes(c, i, bytes), (double)size);
}

bool learn_calibrate(struct perf_model *model, const struct calibration *calibration,
                     int32_t largest_size)
{
    bool changed = false;

    if (calibration->n_sizes == 0 || model->comm_bytes <= 0 ||
        model->source == MODEL_STATED || model->comm_form != MODEL_COMM_TABLE)
        return false;
    for (int32_t size = 2; size <= largest_size; size *= 2) {
        bool is_new;
        int32_t i;

        if (model->n_comm == COMM_POINTS_MAX)
            break;
        i = comm_slot(model, size, &is_new);
        if (!is_new)
            continue;
        model->comm[i].size = size;
        model->comm[i].time_ns =
            calibration_time_ns(calibration, size, model->comm_bytes);
        changed = true;
    }
    return changed;
}

void learn_from_profile(struct perf_model *model, const struct perf_model *profile)
{
    *model = *profile;
    model->source = MODEL_FAMILY;
    model->n_off = 0;
}
