/* SPDX-License-Identifier: Apache-2.0 */
#include "libelastane/elastane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "core/perf/split.h"

#define SEED 20240717

/* Whether idx[0..n) holds each of 0..n-1 once. */
static bool is_permutation(const int64_t *idx, int64_t n)
{
    uint8_t *seen = calloc((size_t)n, 1);
    bool is_one = true;

    assert_non_null(seen);
    for (int64_t i = 0; i < n && is_one; i++) {
        is_one = idx[i] >= 0 && idx[i] < n && !seen[idx[i]];
        if (is_one)
            seen[idx[i]] = 1;
    }
    free(seen);
    return is_one;
}

static void check_size(int64_t n, uint64_t seed)
{
    int64_t *idx = calloc((size_t)n, sizeof(*idx));

    assert_non_null(idx);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        assert_int_equal(elastane_indices(seed, n, epoch * n, n, idx), 0);
        assert_true(is_permutation(idx, n));
    }
    free(idx);
}

static void ledger_order_is_a_bijection_for_many_sizes(void **state)
{
    static const int64_t sizes[] = {1000, 1023,  1024,  1025,  4095,
                                    4097, 60000, 65537, 200003};

    (void)state;
    for (int64_t n = 1; n <= 300; n++)
        for (uint64_t seed = 0; seed < 3; seed++)
            check_size(n, seed);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        check_size(sizes[i], SEED);
}

static void ledger_order_depends_on_seed_and_epoch_and_nothing_else(void **state)
{
    int64_t a[100], b[100], one;

    (void)state;
    assert_int_equal(elastane_indices(1, 100, 0, 100, a), 0);
    assert_int_equal(elastane_indices(2, 100, 0, 100, b), 0);
    assert_memory_not_equal(a, b, sizeof(a));
    assert_int_equal(elastane_indices(1, 100, 100, 100, b), 0);
    assert_memory_not_equal(a, b, sizeof(a));
    for (int64_t p = 0; p < 200; p++) { /* one at a time, as well as all at once */
        assert_int_equal(elastane_indices(1, 100, p, 1, &one), 0);
        assert_int_equal(one, p < 100 ? a[p] : b[p - 100]);
    }
}

/* The first index of an epoch, over many epochs, falls everywhere about equally. */
static void ledger_order_has_no_favourites(void **state)
{
    int counts[10] = {0};

    (void)state;
    for (int64_t epoch = 0; epoch < 10000; epoch++) {
        int64_t first;

        assert_int_equal(elastane_indices(5, 10, epoch * 10, 1, &first), 0);
        counts[first]++;
    }
    for (int i = 0; i < 10; i++) {
        assert_true(counts[i] > 850);
        assert_true(counts[i] < 1150);
    }
}

static void ledger_refuses_what_has_no_meaning(void **state)
{
    struct elastane_plan plan = {.size = 2, .global_batch = 8, .accumulation = 1};
    struct elastane_batch batch;
    int64_t idx;

    (void)state;
    assert_int_equal(elastane_indices(1, 0, 0, 1, &idx), ELASTANE_E_INVALID);
    assert_int_equal(elastane_indices(1, 5, -1, 1, &idx), ELASTANE_E_INVALID);
    assert_int_equal(elastane_indices(1, 5, INT64_MAX, 1, &idx), ELASTANE_E_INVALID);
    assert_int_equal(elastane_indices(1, 5, 0, 1, NULL), ELASTANE_E_INVALID);
    assert_int_equal(elastane_next_batch(&plan, 10, -1, &batch), ELASTANE_E_INVALID);
    plan.size = 0; /* r15: a world size that is unset */
    assert_int_equal(elastane_next_batch(&plan, 10, 0, &batch), ELASTANE_E_INVALID);
    plan.size = 2;
    plan.rank = 2;
    assert_int_equal(elastane_next_batch(&plan, 10, 0, &batch), ELASTANE_E_INVALID);
    plan.rank = 0;
    plan.global_batch = 0;
    assert_int_equal(elastane_next_batch(&plan, 10, 0, &batch), ELASTANE_E_INVALID);
}

static void ledger_no_batch_spans_two_epochs(void **state)
{
    struct elastane_plan plan = {.size = 1, .global_batch = 8, .accumulation = 1};
    struct elastane_batch batch;

    (void)state;
    assert_int_equal(elastane_next_batch(&plan, 20, 16, &batch), 0);
    assert_int_equal(batch.epoch, 0);
    assert_int_equal(batch.samples, 4);
    assert_int_equal(elastane_next_batch(&plan, 20, 20, &batch), 0);
    assert_int_equal(batch.epoch, 1);
    assert_int_equal(batch.samples, 8);
}

/* R15: for every size and batch the shares follow each other without gap or overlap, and
 * are those of the planner's own rule. */
static void r15_shares_and_passes_sum_to_the_batch_and_follow_the_planner(void **state)
{
    (void)state;
    for (int32_t size = 1; size <= 8; size++)
        for (int32_t b = 1; b <= 40; b++)
            for (int32_t a = 1; a <= 4; a++) {
                int32_t at = 0;
                double weight = 0;

                for (int32_t rank = 0; rank < size; rank++) {
                    struct elastane_plan plan = {
                        .size = size, .rank = rank, .global_batch = b, .accumulation = a};
                    struct elastane_batch batch;
                    int32_t passed = 0;

                    assert_int_equal(elastane_next_batch(&plan, 1000, 0, &batch), 0);
                    assert_int_equal(batch.own_offset, at);
                    assert_int_equal(batch.own_samples, split_rank(b, size, rank));
                    for (int32_t p = 0; p < a; p++) {
                        assert_int_equal(elastane_pass(&batch, p),
                                         split_pass(batch.own_samples, a, p));
                        passed += elastane_pass(&batch, p);
                    }
                    assert_int_equal(passed, batch.own_samples);
                    at += batch.own_samples;
                    weight += batch.weight;
                }
                assert_int_equal(at, b);
                assert_true(weight > 1 - 1e-12 && weight < 1 + 1e-12);
            }
}

/* R06, R07: whatever sizes and batches follow each other, each epoch consumes each sample
 * once, and positions neither repeat nor skip. */
static void r06_any_sequence_of_plans_consumes_each_epoch_exactly(void **state)
{
    enum { N = 97, EPOCHS = 5 };
    struct rng rng = rng_stream(SEED, "plans");

    (void)state;
    print_message("# seed %d\n", SEED);
    for (int round = 0; round < 50; round++) {
        uint8_t seen[EPOCHS][N] = {{0}};
        int64_t done = 0;

        while (done < (int64_t)N * EPOCHS) {
            struct elastane_plan plan = {.size = 1 + (int32_t)rng_below(&rng, 6),
                                         .global_batch = 1 + (int32_t)rng_below(&rng, 40),
                                         .accumulation = 1};
            struct elastane_batch batch = {.samples = 0};
            int64_t total = 0;

            for (plan.rank = 0; plan.rank < plan.size; plan.rank++) {
                int64_t idx[40];

                assert_int_equal(elastane_next_batch(&plan, N, done, &batch), 0);
                assert_int_equal(batch.position, done);
                assert_int_equal(elastane_indices(3, N, done + batch.own_offset,
                                                  batch.own_samples, idx),
                                 0);
                for (int32_t i = 0; i < batch.own_samples; i++)
                    assert_int_equal(seen[batch.epoch][idx[i]]++, 0);
                total += batch.own_samples;
            }
            assert_int_equal(total, batch.samples);
            done += batch.samples; /* r07: only ever forward, by what was consumed */
        }
        for (int e = 0; e < EPOCHS; e++)
            for (int i = 0; i < N; i++)
                assert_int_equal(seen[e][i], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ledger_order_is_a_bijection_for_many_sizes),
        cmocka_unit_test(ledger_order_depends_on_seed_and_epoch_and_nothing_else),
        cmocka_unit_test(ledger_order_has_no_favourites),
        cmocka_unit_test(ledger_refuses_what_has_no_meaning),
        cmocka_unit_test(ledger_no_batch_spans_two_epochs),
        cmocka_unit_test(r15_shares_and_passes_sum_to_the_batch_and_follow_the_planner),
        cmocka_unit_test(r06_any_sequence_of_plans_consumes_each_epoch_exactly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
