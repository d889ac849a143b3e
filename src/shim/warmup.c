/* SPDX-License-Identifier: Apache-2.0 */
/* warmup.c - see warmup.h. */
#include "shim/warmup.h"

void warmup_take(struct warmup *w, usec_t last_us, double n_steps, int64_t step_ns)
{
    double lost_us;

    if (w->since_us == 0 || w->lost_us > 0 || step_ns <= 0 || n_steps <= 0.0)
        return;
    lost_us = (double)(last_us - w->since_us) - n_steps * (double)step_ns / 1e3;
    w->lost_us = lost_us > 1.0 ? (usec_t)lost_us : 1;
}
