/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - a model from whole steps alone, for jobs that report nothing finer: those
 * that count their samples (docs/environment.md), or call a library for their steps only.
 * Pure. */
#ifndef CORE_PERF_STEPS_H
#define CORE_PERF_STEPS_H

#include "core/job.h"
#include "core/perf/learn.h"

/* Keeps the step, in the place of an older one of the same size and micro-batch, and
 * makes proc[] and comm[] anew from all steps. What the model had of finer measurements
 * is gone. The step must be in range (step_is_sound()). True when it was worth an event.
 */
bool steps_put(struct perf_model *model, const struct learn_observation *seen);

bool step_is_sound(const struct learn_observation *seen);

/* The size that must be tried before the model of a job that began with many devices is
 * believed about few; 0: none. Below the smallest size measured the model is a guess. So
 * the next smaller one is tried, about half of it, unless a larger one that was measured
 * turned out faster: then fewer devices would not be. */
int32_t steps_next_trial(const struct perf_model *model, const struct size_set *sizes);

#endif
