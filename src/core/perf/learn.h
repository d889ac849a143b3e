/* SPDX-License-Identifier: Apache-2.0 */
/* learn.h - from a job's own measurements to its model (JSA, DESIGN 4.1; seed-paper.md
 * 3).
 *
 * Observations are medians that have settled (the shim applies the warm-up rule); they
 * come as telemetry and are not journalled. learn_observe() folds one into a copy of the
 * model and says whether it moved enough to be worth an EVENT_MODEL. Pure. */
#ifndef CORE_PERF_LEARN_H
#define CORE_PERF_LEARN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/perf/model.h"

#define LEARN_CHANGE_PPM 50000 /* less than 5 % of difference is not worth an event */
#define LEARN_DISTRUST_PPM                                                               \
    250000                   /* a stored profile that is off by more is set aside        \
                              */
#define LEARN_VALID_STEPS 20 /* this many values make such a verdict */

enum learn_kind {
    LEARN_MICRO, /* one micro-batch of `micro_batch` samples took time_ns */
    LEARN_COMM,  /* the all-reduce of one step over `size` devices took time_ns */
    LEARN_STEP,  /* a whole step over `size` devices took time_ns */
};

struct learn_observation {
    enum learn_kind kind;
    int32_t size;
    int32_t micro_batch;  /* LEARN_MICRO; LEARN_STEP: that of the plan, or 0 */
    int32_t accumulation; /* LEARN_STEP */
    int32_t count;        /* values behind the median */
    int64_t time_ns;      /* below 0 is taken as 0 for LEARN_COMM, ignored else */
    int64_t comm_bytes;   /* all-reduced per step; 0: not told */
    bool is_noisy;
};

/* What an all-reduce costs on this machine, measured once with the library that jobs use:
 * a grid, linear in bytes and in size. */
#define LEARN_GRID_MAX 16

struct calibration {
    int32_t n_sizes; /* 0: not calibrated */
    int32_t n_bytes;
    int32_t sizes[LEARN_GRID_MAX];                   /* devices >= 2, ascending */
    int64_t bytes[LEARN_GRID_MAX];                   /* ascending */
    int64_t time_ns[LEARN_GRID_MAX][LEARN_GRID_MAX]; /* [size][bytes] */
};

/* By how much two times differ, relative to the larger one. */
int64_t learn_distance_ppm(int64_t a, int64_t b);

/* Folds the observation in. True when the model changed by more than LEARN_CHANGE_PPM
 * anywhere, gained a point, a size, or another source. A stated model only learns which
 * sizes were seen. */
bool learn_observe(struct perf_model *model, const struct learn_observation *seen);

/* A micro-batch of this many samples did not fit into the device's memory (R14): the
 * ceiling becomes half of it, at least 1. True when the ceiling moved. */
bool learn_out_of_memory(struct perf_model *model, int32_t micro_batch);

/* Fills the comm table for the sizes that nobody measured, up to largest_size. Needs
 * comm_bytes. True when the model changed. */
bool learn_calibrate(struct perf_model *model, const struct calibration *calibration,
                     int32_t largest_size);

/* The calibrated time; sizes and bytes beyond the grid continue its last segment. */
int64_t calibration_time_ns(const struct calibration *calibration, int32_t size,
                            int64_t bytes);

/* A model for a new job from the stored profile of its family: measured becomes family.
 */
void learn_from_profile(struct perf_model *model, const struct perf_model *profile);

#endif
