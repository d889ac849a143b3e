/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - how fast a job runs: T_iter = a * T_proc(m) + T_comm(k, nodes).
 *
 * Source: seed-paper.md section 3. T_proc is piecewise linear through measured points,
 * repaired to be non-decreasing, its last segment continued; T_comm is 0 for one device,
 * else a table over sizes or a closed form. All records are integers (they travel in the
 * journal); times come out as doubles in seconds, computed with + - * / only.
 *
 * A job without a model has the prior S(k) = k^0.8 (DESIGN 4.1): MODEL_PRIOR. */
#ifndef CORE_PERF_MODEL_H
#define CORE_PERF_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/limits.h"

enum model_source {
    MODEL_PRIOR,    /* nothing known: S(k) = k^0.8 */
    MODEL_STATED,   /* given with the job */
    MODEL_FAMILY,   /* a stored profile of the job's family */
    MODEL_MEASURED, /* this job's own steps */
    MODEL_SOURCE_MAX
};

enum model_comm {
    MODEL_COMM_TABLE, /* comm[] points, linear in k, last segment continued */
    MODEL_COMM_RING,  /* 2(k-1) alpha + 2(k-1)/k bytes/w */
    MODEL_COMM_TREE,  /* 2 log2(k) (alpha + bytes/w) */
    MODEL_COMM_MAX
};

struct proc_point {
    int32_t micro_batch; /* samples, >= 1, strictly ascending */
    int64_t time_ns;     /* forward + backward of one micro-batch, > 0 */
};

struct comm_point {
    int32_t size;    /* devices, >= 2, strictly ascending */
    int64_t time_ns; /* >= 0; a negative estimate is stored as 0 */
};

/* A whole optimizer step, as measured under one plan. */
struct step_point {
    int32_t size; /* strictly ascending by (size, micro_batch) */
    int32_t micro_batch;
    int32_t accumulation;
    int64_t time_ns; /* > 0 */
};

struct perf_model {
    enum model_source source;
    bool is_noisy;        /* no three steps in a row agreed; the median was taken */
    int32_t largest_size; /* largest size measured; 0: none. Growth goes to twice this */
    int32_t
        micro_limit; /* largest micro-batch that memory allows, as found; 0: not known */
    int32_t n_steps; /* > 0: proc and comm are what these steps imply (steps.h) */
    struct step_point steps[STEP_POINTS_MAX];
    int32_t n_off; /* MODEL_FAMILY: values of the job's own that contradict the profile */
    int32_t n_proc;
    struct proc_point proc[PROC_POINTS_MAX];
    enum model_comm comm_form;
    int32_t n_comm; /* MODEL_COMM_TABLE */
    struct comm_point comm[COMM_POINTS_MAX];
    int64_t comm_bytes;         /* bytes of gradients all-reduced per step */
    int64_t comm_alpha_ns;      /* latency per step of the ring or tree */
    int64_t comm_bytes_per_sec; /* w of the slowest link */
    int64_t inter_node_ppm; /* T_comm on several nodes, relative; 0 is 1e6: the same */
};

const char *model_source_name(enum model_source source);
const char *model_comm_name(enum model_comm form);

/* The record's own rules (ascending, positive, within limits); names the field. */
int model_check(const struct perf_model *model, struct err *err);

/* Seconds for one micro-batch of m samples. n_proc must be > 0. */
double model_t_proc(const struct perf_model *model, int32_t micro_batch);
/* Seconds of communication per optimizer step; 0 for k = 1. */
double model_t_comm(const struct perf_model *model, int32_t size, int32_t nodes);
/* S(k) of a job of which nothing was measured: k^0.8. */
double model_prior(int32_t size);
/* Samples per second for an exact global batch over k ranks: the slowest rank has
 * ceil(B/k) samples in a passes of at most m. With n_proc 0 it is model_prior(), a rate
 * relative to one device, whatever the batch. */
double model_rate(const struct perf_model *model, int32_t size, int32_t nodes,
                  int32_t global_batch, int32_t micro_batch, int32_t accumulation);

#endif
