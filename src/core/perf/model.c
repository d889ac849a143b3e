/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - T_iter = a * T_proc(m) + T_comm(k, nodes), and the rate that follows.
 *
 * Source: seed-paper.md section 3; the closed forms are the textbook costs of a ring and
 * of a tree all-reduce. No overlap of computing and communicating is assumed, so
 * predictions err on the slow side. Known lies, and what was decided:
 *
 *   A table of T_comm is linear in k between its points and goes on with its last
 *   segment, never below 0. Below the first point, and everywhere when there is only one,
 *   it has the shape (k-1)/k of a ring's transfer time through that point: that shape is
 *   0 for one device and nearly flat for many, as measured all-reduces are.
 *   A table without points predicts 0. That is too hopeful, and bearable only because an
 *   unmeasured job grows to at most twice its largest measured size (DESIGN 4.1).
 *   Several nodes cost one factor over the same form (inter_node_ppm); how many nodes
 *   does not matter beyond one.
 *
 * Invariants: 1. All results are finite and not negative; times of computing are
 * positive. 2. Only + - * / and det_* are used, in the order written. */
#include "core/perf/model.h"

#include "base/assert.h"
#include "base/detmath.h"
#include "base/units.h"
#include "core/perf/curve.h"

#define NS_PER_SEC     1e9
#define PRIOR_EXPONENT 0.8
#define TIME_MAX_NS    (INT64_C(366) * 86400 * 1000000000)
#define INTER_NODE_MAX (1000 * PPM)

static int check_proc(const struct perf_model *model, struct err *err)
{
    if (model->n_proc < 0 || model->n_proc > PROC_POINTS_MAX)
        return err_field(err, E_LIMIT, "proc", "has %d points; 0 to %d", model->n_proc,
                         PROC_POINTS_MAX);
    if (model->source == MODEL_PRIOR && model->n_proc > 0)
        return err_field(err, E_INVALID, "source",
                         "is prior, but %d points are given; "
                         "stated, family or measured",
                         model->n_proc);
    if (model->source != MODEL_PRIOR && model->n_proc == 0)
        return err_field(err, E_INVALID, "proc", "has no points; at least 1");
    for (int32_t i = 0; i < model->n_proc; i++) {
        const struct proc_point *p = &model->proc[i];
        int32_t least = i > 0 ? model->proc[i - 1].micro_batch + 1 : 1;

        if (p->micro_batch < least || p->micro_batch > BATCH_MAX)
            return err_field(err, E_INVALID, "proc",
                             "has micro-batch %d as point %d; %d to %d there",
                             p->micro_batch, i + 1, least, BATCH_MAX);
        if (p->time_ns < 1 || p->time_ns > TIME_MAX_NS)
            return err_field(err, E_INVALID, "proc",
                             "has %lld ns as time of point %d; 1 ns to 366 days",
                             (long long)p->time_ns, i + 1);
    }
    return 0;
}

static int check_comm_points(const struct perf_model *model, struct err *err)
{
    if (model->n_comm < 0 || model->n_comm > COMM_POINTS_MAX)
        return err_field(err, E_LIMIT, "comm", "has %d points; 0 to %d", model->n_comm,
                         COMM_POINTS_MAX);
    for (int32_t i = 0; i < model->n_comm; i++) {
        const struct comm_point *p = &model->comm[i];
        int32_t least = i > 0 ? model->comm[i - 1].size + 1 : 2;

        if (p->size < least || p->size > SIZE_MAX_DEVICES)
            return err_field(err, E_INVALID, "comm",
                             "has size %d as point %d; %d to %d there", p->size, i + 1,
                             least, SIZE_MAX_DEVICES);
        if (p->time_ns < 0 || p->time_ns > TIME_MAX_NS)
            return err_field(err, E_INVALID, "comm",
                             "has %lld ns as time of point %d; 0 to 366 days",
                             (long long)p->time_ns, i + 1);
    }
    return 0;
}

static int check_steps(const struct perf_model *model, struct err *err)
{
    if (model->n_steps < 0 || model->n_steps > STEP_POINTS_MAX)
        return err_field(err, E_LIMIT, "steps", "has %d points; 0 to %d", model->n_steps,
                         STEP_POINTS_MAX);
    if (model->n_steps > 0 &&
        (model->source == MODEL_PRIOR || model->source == MODEL_STATED))
        return err_field(err, E_INVALID, "steps",
                         "is not empty; family or measured only");
    for (int32_t i = 0; i < model->n_steps; i++) {
        const struct step_point *p = &model->steps[i];
        const struct step_point *last = i > 0 ? p - 1 : NULL;

        if (p->size < 1 || p->size > SIZE_MAX_DEVICES || p->micro_batch < 1 ||
            p->micro_batch > BATCH_MAX || p->accumulation < 1 ||
            p->accumulation > BATCH_MAX || p->time_ns < 1 || p->time_ns > TIME_MAX_NS)
            return err_field(err, E_INVALID, "steps",
                             "has a point out of range, the %dth", i + 1);
        if (last && (p->size < last->size ||
                     (p->size == last->size && p->micro_batch <= last->micro_batch)))
            return err_field(err, E_INVALID, "steps", "is out of order at point %d",
                             i + 1);
    }
    return 0;
}

static int check_link(const struct perf_model *model, struct err *err)
{
    if (model->comm_bytes < 0)
        return err_field(err, E_INVALID, "comm-bytes", "is negative");
    if (model->comm_alpha_ns < 0 || model->comm_alpha_ns > TIME_MAX_NS)
        return err_field(err, E_INVALID, "comm-alpha", "is %lld ns; 0 to 366 days",
                         (long long)model->comm_alpha_ns);
    if (model->comm_bytes_per_sec < 0)
        return err_field(err, E_INVALID, "comm-bytes-per-sec", "is negative");
    if (model->comm_form != MODEL_COMM_TABLE && model->comm_bytes > 0 &&
        model->comm_bytes_per_sec == 0)
        return err_field(err, E_INVALID, "comm-bytes-per-sec",
                         "is 0; a ring or tree needs the speed of its slowest link");
    if (model->inter_node_ppm < 0 || model->inter_node_ppm > INTER_NODE_MAX)
        return err_field(err, E_INVALID, "inter-node",
                         "is %lld ppm; 1 to %lld, or 0 for no difference",
                         (long long)model->inter_node_ppm, (long long)INTER_NODE_MAX);
    return 0;
}

int model_check(const struct perf_model *model, struct err *err)
{
    int rc;

    if ((unsigned)model->source >= MODEL_SOURCE_MAX)
        return err_field(err, E_INVALID, "source",
                         "is unknown; prior, stated, family or measured");
    if ((unsigned)model->comm_form >= MODEL_COMM_MAX)
        return err_field(err, E_INVALID, "comm-form", "is unknown; table, ring or tree");
    if (model->micro_limit < 0 || model->micro_limit > BATCH_MAX)
        return err_field(err, E_INVALID, "micro_limit", "is %d; 0 to %d samples",
                         model->micro_limit, BATCH_MAX);
    if (model->largest_size < 0 || model->largest_size > SIZE_MAX_DEVICES)
        return err_field(err, E_INVALID, "largest-size", "is %d; 0 to %d",
                         model->largest_size, SIZE_MAX_DEVICES);
    rc = check_proc(model, err);
    if (rc == 0)
        rc = check_comm_points(model, err);
    if (rc == 0)
        rc = check_steps(model, err);
    if (rc == 0)
        rc = check_link(model, err);
    return rc;
}

double model_t_proc(const struct perf_model *model, int32_t micro_batch)
{
    struct curve curve;

    curve_init(&curve, model);
    return curve_at(&curve, micro_batch);
}

static double table_time(const struct perf_model *model, int32_t size)
{
    const struct comm_point *p = model->comm;
    int32_t i = 0;
    double t, slope;

    if (model->n_comm == 0)
        return 0.0;
    if (model->n_comm == 1 || size < p[0].size) {
        t = (double)p[0].time_ns * (double)(size - 1) / (double)size;
        return t * (double)p[0].size / (double)(p[0].size - 1);
    }
    while (i + 2 < model->n_comm && p[i + 1].size <= size)
        i++;
    slope =
        (double)(p[i + 1].time_ns - p[i].time_ns) / (double)(p[i + 1].size - p[i].size);
    t = (double)p[i].time_ns + slope * (double)(size - p[i].size);
    return t > 0.0 ? t : 0.0;
}

/* Nanoseconds to move the gradients once over the slowest link. */
static double transfer_time(const struct perf_model *model)
{
    if (model->comm_bytes == 0 || model->comm_bytes_per_sec == 0)
        return 0.0;
    return (double)model->comm_bytes / (double)model->comm_bytes_per_sec * NS_PER_SEC;
}

static double ring_time(const struct perf_model *model, int32_t size)
{
    double steps = 2.0 * (double)(size - 1);

    return steps * (double)model->comm_alpha_ns +
           steps / (double)size * transfer_time(model);
}

static double tree_time(const struct perf_model *model, int32_t size)
{
    double steps = 2.0 * det_log2((double)size);

    return steps * ((double)model->comm_alpha_ns + transfer_time(model));
}

double model_t_comm(const struct perf_model *model, int32_t size, int32_t nodes)
{
    double ns = 0.0;

    ASSERT(size >= 1);
    if (size == 1)
        return 0.0;
    switch (model->comm_form) {
    case MODEL_COMM_TABLE:
        ns = table_time(model, size);
        break;
    case MODEL_COMM_RING:
        ns = ring_time(model, size);
        break;
    case MODEL_COMM_TREE:
        ns = tree_time(model, size);
        break;
    case MODEL_COMM_MAX:
        ASSERT(model->comm_form != MODEL_COMM_MAX);
        break;
    }
    if (nodes > 1 && model->inter_node_ppm > 0)
        ns = ns * (double)model->inter_node_ppm / (double)PPM;
    return ns / NS_PER_SEC;
}

double model_prior(int32_t size)
{
    ASSERT(size >= 1);
    return det_pow((double)size, PRIOR_EXPONENT);
}

double model_rate(const struct perf_model *model, int32_t size, int32_t nodes,
                  int32_t global_batch, int32_t micro_batch, int32_t accumulation)
{
    int64_t share, pass;
    double t;

    if (model->n_proc == 0)
        return model_prior(size);
    ASSERT(global_batch >= 1);
    ASSERT(accumulation >= 1);
    share = i64_div_up(global_batch, size);
    pass = i64_div_up(share, accumulation);
    ASSERT(pass <= micro_batch);
    t = (double)accumulation * model_t_proc(model, (int32_t)pass);
    return (double)global_batch / (t + model_t_comm(model, size, nodes));
}
