/* SPDX-License-Identifier: Apache-2.0 */
/* rng.c - xoshiro256** (Blackman and Vigna, 2018), seeded by hashing seed and name.
 *
 * The name goes through the digest, and splitmix64 spreads the 64 bits over the 256 of
 * the state, as the authors advise. Everything is integer arithmetic or an exact
 * conversion, but the logarithm of rng_exponential, which is detmath's: so a stream has
 * the same numbers on every machine. */
#include "base/rng.h"

#include "base/assert.h"
#include "base/detmath.h"
#include "base/digest.h"

#define LN_2 0.69314718055994530942

static uint64_t rotate_left(uint64_t x, int n)
{
    return (x << n) | (x >> (64 - n));
}

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct rng rng_stream(uint64_t seed, const char *name)
{
    struct digest d;
    struct rng rng;
    uint64_t state;

    digest_init(&d);
    digest_add_u64(&d, seed);
    digest_add_text(&d, name);
    state = d.value;
    for (int i = 0; i < 4; i++)
        rng.s[i] = splitmix(&state);
    return rng;
}

uint64_t rng_u64(struct rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *rng, uint64_t n)
{
    uint64_t excess;
    uint64_t x;

    ASSERT(n >= 1);
    excess = (UINT64_MAX - n + 1) % n; /* 2^64 mod n */
    do
        x = rng_u64(rng);
    while (x < excess); /* what remains is a whole multiple of n */
    return x % n;
}

int64_t rng_between(struct rng *rng, int64_t low, int64_t high)
{
    uint64_t width = (uint64_t)high - (uint64_t)low;
    uint64_t x;

    ASSERT(low <= high);
    x = width == UINT64_MAX ? rng_u64(rng) : rng_below(rng, width + 1);
    return (int64_t)((uint64_t)low + x);
}

double rng_double(struct rng *rng)
{
    return (double)(rng_u64(rng) >> 11) * 0x1p-53;
}

double rng_exponential(struct rng *rng, double mean)
{
    return mean * (-LN_2 * det_log2(1.0 - rng_double(rng)));
}
