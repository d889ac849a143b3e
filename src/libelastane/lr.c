/* SPDX-License-Identifier: Apache-2.0 */
/* lr.c - the learning rate's factor, a pure function of plan and samples.
 *
 * Integers in 1e-6 travel, so all ranks, the daemon and a dry run print the same number;
 * the square root is taken in integers too, which also keeps libm out of the library. */
#include "libelastane/elastane.h"

#define ONE_PPM ((int64_t)1000000)

/* Largest r with r * r <= n. */
static uint64_t root_of(uint64_t n)
{
    uint64_t r = 0;

    for (uint64_t bit = (uint64_t)1 << 31; bit > 0; bit >>= 1)
        if ((r | bit) * (r | bit) <= n)
            r |= bit;
    return r;
}

/* round(1e6 * sqrt(batch / base)). With q = floor(1e12 * batch / base) and r its root,
 * the nearer of r and r + 1 is r + 1 when q > r * r + r. */
static int64_t sqrt_ppm(int64_t base, int64_t batch)
{
    uint64_t whole = (uint64_t)(batch / base) * 1000000000000u;
    uint64_t rest = (uint64_t)(batch % base) * 1000000000u / (uint64_t)base * 1000u;
    uint64_t q;
    uint64_t r;

    if (batch / base >= 18000000)
        return (int64_t)root_of((uint64_t)(batch / base)) * ONE_PPM;
    q = whole + rest;
    r = root_of(q);
    return (int64_t)(q > r * r + r ? r + 1 : r);
}

int64_t elastane_lr_rule_ppm(int lr_rule, int32_t base_batch, int32_t batch)
{
    if (base_batch <= 0 || batch <= 0)
        return ONE_PPM;
    if (lr_rule == ELASTANE_LR_LINEAR)
        return (batch * ONE_PPM + base_batch / 2) / base_batch;
    if (lr_rule == ELASTANE_LR_SQRT)
        return sqrt_ppm(base_batch, batch);
    return ONE_PPM;
}

double elastane_lr_factor(const struct elastane_plan *plan, int64_t samples_done)
{
    int64_t seen = samples_done - plan->ramp_start;
    double from = (double)plan->lr_from_ppm / (double)ONE_PPM;
    double to = (double)plan->lr_to_ppm / (double)ONE_PPM;

    if (plan->lr_to_ppm <= plan->lr_from_ppm || plan->ramp_samples <= 0 ||
        seen >= plan->ramp_samples)
        return to;
    if (seen <= 0)
        return from;
    return from + (to - from) * ((double)seen / (double)plan->ramp_samples);
}
