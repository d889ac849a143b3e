/* SPDX-License-Identifier: Apache-2.0 */
/* rng.h - random numbers from named streams.
 *
 * Each consumer draws from a stream of its own, so that a new consumer shifts nobody
 * else's numbers. A stream is a plain value: copying it copies its future. Not for
 * secrets. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

/* The stream of that name under that seed, at its beginning. */
struct rng rng_stream(uint64_t seed, const char *name);

/* 64 uniform bits. */
uint64_t rng_u64(struct rng *rng);
/* Uniform in [0, n), without bias; n >= 1. */
uint64_t rng_below(struct rng *rng, uint64_t n);
/* Uniform in [low, high], both included; low <= high. */
int64_t rng_between(struct rng *rng, int64_t low, int64_t high);
/* Uniform in [0, 1), a multiple of 2^-53. */
double rng_double(struct rng *rng);
/* Exponentially distributed with this mean, >= 0; the gaps of a Poisson process. */
double rng_exponential(struct rng *rng, double mean);

#endif
