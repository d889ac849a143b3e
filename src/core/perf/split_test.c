/* SPDX-License-Identifier: Apache-2.0 */
#include "core/perf/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "core/limits.h"

#define SEED 20260102u

static void split_gives_the_first_ranks_one_more(void **state)
{
    static const int32_t shares[] = {3, 3, 2, 2};
    static const int32_t offsets[] = {0, 3, 6, 8};

    (void)state;
    for (int32_t r = 0; r < 4; r++) {
        assert_int_equal(split_rank(10, 4, r), shares[r]);
        assert_int_equal(split_offset(10, 4, r), offsets[r]);
    }
}

static void split_leaves_ranks_empty_when_samples_run_out(void **state)
{
    (void)state;
    assert_int_equal(split_rank(2, 4, 0), 1);
    assert_int_equal(split_rank(2, 4, 1), 1);
    assert_int_equal(split_rank(2, 4, 2), 0);
    assert_int_equal(split_offset(2, 4, 3), 2);
    assert_int_equal(split_pass(0, 3, 0), 0);
}

static void assert_split_is_exact(int32_t batch, int32_t size, int32_t passes)
{
    int64_t all = 0;

    for (int32_t r = 0; r < size; r++) {
        int32_t share = split_rank(batch, size, r);
        int64_t sum = 0;

        assert_int_equal(split_offset(batch, size, r), all);
        assert_true(r == 0 || share <= split_rank(batch, size, r - 1));
        assert_true(split_rank(batch, size, 0) - share <= 1);
        for (int32_t p = 0; p < passes; p++) {
            assert_true(split_pass(share, passes, 0) - split_pass(share, passes, p) <= 1);
            sum += split_pass(share, passes, p);
        }
        assert_int_equal(sum, share);
        all += share;
    }
    assert_int_equal(all, batch);
}

static void split_loses_and_doubles_nothing(void **state)
{
    struct rng rng = rng_stream(SEED, "split");

    (void)state;
    print_message("# seed %u\n", SEED);
    for (int round = 0; round < 500; round++) {
        int32_t batch = (int32_t)rng_between(&rng, 1, round % 2 ? 100 : BATCH_MAX);
        int32_t size = (int32_t)rng_between(&rng, 1, 70);
        int32_t passes = (int32_t)rng_between(&rng, 1, 9);

        assert_split_is_exact(batch, size, passes);
    }
    assert_split_is_exact(BATCH_MAX, SIZE_MAX_DEVICES, 1);
}

static void assert_refused(int32_t size, int32_t batch, int32_t micro, int32_t passes,
                           const char *field)
{
    struct err err = {0};

    assert_true(split_check(size, batch, micro, passes, &err) < 0);
    assert_string_equal(err.field, field);
    assert_true(strlen(err.text) > 0);
}

static void r15_split_check_refuses_a_world_of_size_zero(void **state)
{
    (void)state;
    assert_refused(0, 64, 64, 1, "gpus");
    assert_refused(-1, 64, 64, 1, "gpus");
    assert_refused(SIZE_MAX_DEVICES + 1, 64, 64, 1, "gpus");
}

static void split_check_refuses_numbers_that_are_not_set(void **state)
{
    (void)state;
    assert_refused(2, 0, 64, 1, "batch");
    assert_refused(2, BATCH_MAX + 1, 64, 1, "batch");
    assert_refused(2, 64, 0, 1, "micro-batch");
    assert_refused(2, 64, 32, 0, "accumulation");
}

static void r15_split_check_takes_a_batch_that_is_not_divisible(void **state)
{
    (void)state;
    assert_int_equal(split_check(3, 256, 86, 1, NULL), 0);
    assert_refused(3, 256, 85, 1, "accumulation");
    assert_int_equal(split_check(3, 256, 43, 2, NULL), 0);
    assert_int_equal(split_check(4, 2, 1, 1, NULL), 0);
}

static void r15_a_smaller_micro_batch_with_the_old_accumulation_is_noticed(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(split_check(4, 256, 32, 2, NULL), 0);
    assert_int_equal(split_check(4, 256, 16, 2, &err), E_INVALID);
    assert_string_equal(err.field, "accumulation");
    assert_non_null(strstr(err.text, "that takes 4 passes"));
}

static void split_check_agrees_with_the_passes_it_promises(void **state)
{
    struct rng rng = rng_stream(SEED, "check");

    (void)state;
    print_message("# seed %u\n", SEED);
    for (int round = 0; round < 2000; round++) {
        int32_t batch = (int32_t)rng_between(&rng, 1, 300);
        int32_t size = (int32_t)rng_between(&rng, 1, 12);
        int32_t micro = (int32_t)rng_between(&rng, 1, 40);
        int32_t passes = (int32_t)rng_between(&rng, 1, 6);
        bool fits = split_pass(split_rank(batch, size, 0), passes, 0) <= micro;

        assert_int_equal(split_check(size, batch, micro, passes, NULL) == 0, fits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_gives_the_first_ranks_one_more),
        cmocka_unit_test(split_leaves_ranks_empty_when_samples_run_out),
        cmocka_unit_test(split_loses_and_doubles_nothing),
        cmocka_unit_test(r15_split_check_refuses_a_world_of_size_zero),
        cmocka_unit_test(split_check_refuses_numbers_that_are_not_set),
        cmocka_unit_test(r15_split_check_takes_a_batch_that_is_not_divisible),
        cmocka_unit_test(r15_a_smaller_micro_batch_with_the_old_accumulation_is_noticed),
        cmocka_unit_test(split_check_agrees_with_the_passes_it_promises),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
