/* SPDX-License-Identifier: Apache-2.0 */
/* warmup.h - how much time an incarnation lost before its steps counted: compiling,
 * filling caches, opening data. That is no throughput, but a part of what a change costs
 * (DESIGN 4.1, 4.7). Pure. */
#ifndef SHIM_WARMUP_H
#define SHIM_WARMUP_H

#include <stdint.h>

#include "base/units.h"

struct warmup {
    usec_t since_us; /* monotonic: all ranks were up; 0: not yet */
    usec_t lost_us;  /* at least 1 once known; 0: not known */
};

/* n_steps (parts of a step count) were finished, the last of them at last_us, and one
 * takes step_ns: the time that went into no step is lost. The first answer stands;
 * nothing is said while step_ns is 0. */
void warmup_take(struct warmup *warmup, usec_t last_us, double n_steps, int64_t step_ns);

#endif
