/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rival.h - others that solve an allocation problem, to be timed beside ours: the
 * recurrence of the seed paper as it stands there, and CBC, a program for integer
 * programs. Both maximise the value alone. */
#ifndef CLI_BENCH_RIVAL_H
#define CLI_BENCH_RIVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "core/alloc/alloc.h"

struct bench_rival {
    bool has_run;  /* else `why` says why not */
    bool is_exact; /* ended by itself; else it was stopped with this value */
    usec_t took_us;
    int64_t value;
    char why[96];
};

/* P(j, k) over all jobs, devices and sizes; stopped after limit_us. */
void bench_recurrence(const struct alloc_problem *p, usec_t limit_us,
                      struct bench_rival *ret);

/* Runs `cbc` from PATH on the problem as the textbook has it. */
void bench_cbc(const struct alloc_problem *p, usec_t limit_us, struct bench_rival *ret);

/* The monotonic clock. */
usec_t bench_now_us(void);

#endif
