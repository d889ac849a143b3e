/* SPDX-License-Identifier: Apache-2.0 */
/* observe.h - measurements of one rank, summed up for the JSA (DESIGN 4.1).
 *
 * Warm-up is not throughput: values of a kind count once three in a row agree within
 * 20 %; without agreement in 50 values their median is taken and marked noisy. Pure. */
#ifndef SHIM_OBSERVE_H
#define SHIM_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/shim_msg.h"

#define OBSERVE_KINDS_MAX  24 /* distinct (what, micro-batch) of one rank */
#define OBSERVE_WINDOW     64 /* values kept between two summaries */
#define OBSERVE_SETTLE_MAX 50

struct observe_kind {
    enum shim_observed what;
    int32_t micro_batch;
    bool is_settled;
    bool is_noisy;
    int32_t n_seen; /* before settling */
    int32_t n;      /* values in the window */
    int32_t next;   /* where the next one goes, once the window is full */
    int64_t time_ns[OBSERVE_WINDOW];
};

struct observe {
    int32_t n_kinds;
    struct observe_kind kinds[OBSERVE_KINDS_MAX];
};

struct observe_summary {
    enum shim_observed what;
    int32_t micro_batch;
    int32_t count;
    int64_t median_ns;
    bool is_noisy;
};

/* Values out of range are dropped, and so are kinds beyond OBSERVE_KINDS_MAX. */
void observe_add(struct observe *observe, enum shim_observed what, int32_t micro_batch,
                 int64_t time_ns);
/* Takes the summary of a kind that has settled and has new values; false: none left. */
bool observe_take(struct observe *observe, struct observe_summary *ret);

/* How long a step takes, as soon as two in a row agree: the faster of the first two that
 * do; the median once steps have settled without that; 0: not known yet. */
int64_t observe_step_ns(const struct observe *observe);

/* Median of n >= 1 values (the lower one of two); reorders them. */
int64_t observe_median(int64_t *values, int32_t n);

#endif
