/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.c - which samples a step consists of (DESIGN 5, Samples).
 *
 * One number says where training stands: the samples done. Positions 0, 1, 2, ... run
 * through the epochs one after the other, n positions each, so the number does not depend
 * on sizes or batches, and any plan can take up where another one left.
 *
 * The order of an epoch is a permutation of [0, n) keyed by (seed, epoch), computed for
 * one position at a time without a table. A Feistel network over 2h bits is a bijection
 * of [0, 4^h) whatever its round function is; the smallest domain that holds n is at most
 * four times as large (h >= 1), and a value that falls outside [0, n) is sent through
 * again until it falls inside. That walk follows a cycle of a permutation which contains
 * the starting point, so it ends, and restricted to [0, n) the result is a bijection
 * again.
 *
 * Arguments are checked before they reach split.h, so nothing here can fail an ASSERT. */
#include "libelastane/elastane.h"

#include "core/perf/split.h"

#define ROUNDS      6
#define DATASET_MAX ((int64_t)1 << 60)
#define INDICES_MAX ((int64_t)1 << 40)

struct order_key {
    uint64_t rounds[ROUNDS];
    unsigned half_bits;
    uint64_t mask;
};

/* A well-mixed 64-bit function: xor-shifts and odd multipliers. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    return x;
}

static void key_make(struct order_key *key, uint64_t seed, int64_t epoch, int64_t n)
{
    uint64_t state = mix(seed ^ 0x9e3779b97f4a7c15u) + (uint64_t)epoch;

    key->half_bits = 1;
    while ((uint64_t)n > (uint64_t)1 << (2 * key->half_bits))
        key->half_bits++;
    key->mask = ((uint64_t)1 << key->half_bits) - 1;
    for (int i = 0; i < ROUNDS; i++) {
        state += 0x9e3779b97f4a7c15u;
        key->rounds[i] = mix(state);
    }
}

static uint64_t encipher(const struct order_key *key, uint64_t x)
{
    uint64_t left = x >> key->half_bits;
    uint64_t right = x & key->mask;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t next = left ^ (mix(right + key->rounds[i]) & key->mask);

        left = right;
        right = next;
    }
    return left << key->half_bits | right;
}

static int64_t place_of(const struct order_key *key, int64_t index, int64_t n)
{
    uint64_t x = (uint64_t)index;

    do {
        x = encipher(key, x);
    } while (x >= (uint64_t)n);
    return (int64_t)x;
}

int elastane_indices(uint64_t seed, int64_t dataset_size, int64_t position, int64_t count,
                     int64_t *ret_indices)
{
    struct order_key key = {.half_bits = 0};
    int64_t epoch = -1;

    if (dataset_size < 1 || dataset_size > DATASET_MAX || position < 0 || count < 0 ||
        count > INDICES_MAX || position > INT64_MAX - count ||
        (count > 0 && !ret_indices))
        return ELASTANE_E_INVALID;
    for (int64_t i = 0; i < count; i++) {
        int64_t p = position + i;

        if (p / dataset_size != epoch) {
            epoch = p / dataset_size;
            key_make(&key, seed, epoch, dataset_size);
        }
        ret_indices[i] = place_of(&key, p % dataset_size, dataset_size);
    }
    return 0;
}

int elastane_next_batch(const struct elastane_plan *plan, int64_t dataset_size,
                        int64_t samples_done, struct elastane_batch *ret)
{
    struct elastane_batch batch;
    int64_t left;

    if (!plan || !ret || plan->global_batch < 1 || plan->size < 1 || plan->rank < 0 ||
        plan->rank >= plan->size || plan->accumulation < 1 || dataset_size < 1 ||
        dataset_size > DATASET_MAX || samples_done < 0)
        return ELASTANE_E_INVALID;
    left = dataset_size - samples_done % dataset_size;
    batch.epoch = samples_done / dataset_size;
    batch.position = samples_done;
    batch.samples = left < plan->global_batch ? (int32_t)left : plan->global_batch;
    batch.accumulation = plan->accumulation;
    batch.own_offset = split_offset(batch.samples, plan->size, plan->rank);
    batch.own_samples = split_rank(batch.samples, plan->size, plan->rank);
    batch.weight = (double)batch.own_samples / (double)batch.samples;
    *ret = batch;
    return 0;
}

int32_t elastane_pass(const struct elastane_batch *batch, int32_t pass)
{
    if (!batch || batch->accumulation < 1 || pass < 0 || pass >= batch->accumulation)
        return 0;
    return split_pass(batch->own_samples, batch->accumulation, pass);
}
