/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/warmup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/perf/learn.h"
#include "shim/observe.h"

#define STEP_NS(m)                                                                       \
    (20000000 + 400000 * (int64_t)(m)) /* what the trainer really takes                  \
                                        */

static void warm_up_is_what_went_into_no_step(void **state)
{
    struct warmup w = {.since_us = 100 * USEC_PER_SEC};

    (void)state;
    warmup_take(&w, 131 * USEC_PER_SEC, 10.0, 0); /* the time of a step is not known */
    assert_int_equal(w.lost_us, 0);
    warmup_take(&w, 131 * USEC_PER_SEC, 10.0, 100000000);
    assert_int_equal(w.lost_us, 30 * USEC_PER_SEC);
    warmup_take(&w, 231 * USEC_PER_SEC, 10.0, 100000000); /* the first answer stands */
    assert_int_equal(w.lost_us, 30 * USEC_PER_SEC);
}

static void warm_up_of_nothing_is_known_to_be_nothing(void **state)
{
    struct warmup w = {.since_us = USEC_PER_SEC};

    (void)state;
    warmup_take(&w, 2 * USEC_PER_SEC, 20.0, 100000000);
    assert_int_equal(w.lost_us, 1);
}

static void warm_up_needs_a_beginning_and_a_step(void **state)
{
    struct warmup w = {0};

    (void)state;
    warmup_take(&w, 2 * USEC_PER_SEC, 20.0, 100000000);
    assert_int_equal(w.lost_us, 0);
    w.since_us = USEC_PER_SEC;
    warmup_take(&w, 2 * USEC_PER_SEC, 0.0, 100000000);
    warmup_take(&w, 2 * USEC_PER_SEC, -5.0, 100000000);
    assert_int_equal(w.lost_us, 0);
}

/* A virtual trainer that compiles for 30 s whenever it sees a new micro-batch. */
struct trainer {
    struct observe observe;
    struct warmup warmup;
    struct perf_model model;
    bool has_seen[257];
    int64_t now_ns;
    int64_t steps;
};

static void step(struct trainer *t, int32_t micro_batch)
{
    int64_t took_ns = STEP_NS(micro_batch);

    if (!t->has_seen[micro_batch])
        took_ns += 30 * INT64_C(1000000000);
    t->has_seen[micro_batch] = true;
    t->now_ns += took_ns;
    t->steps++;
    observe_add(&t->observe, SHIM_OBSERVED_MICRO, micro_batch, took_ns);
    if (t->steps > 1) /* the first one has no beginning (libelastane/client.c) */
        observe_add(&t->observe, SHIM_OBSERVED_STEP, 0, took_ns);
    warmup_take(&t->warmup, t->now_ns / 1000, (double)t->steps,
                observe_step_ns(&t->observe));
}

static void learn_all(struct trainer *t)
{
    struct observe_summary sum;

    while (observe_take(&t->observe, &sum)) {
        struct learn_observation seen = {.kind = LEARN_MICRO,
                                         .size = 1,
                                         .micro_batch = sum.micro_batch,
                                         .count = sum.count,
                                         .time_ns = sum.median_ns,
                                         .is_noisy = sum.is_noisy};

        if (sum.what == SHIM_OBSERVED_MICRO)
            (void)learn_observe(&t->model, &seen);
    }
}

static void warm_up_of_each_new_shape_is_no_throughput(void **state)
{
    static const int32_t shapes[] = {128, 64, 32};
    struct trainer t = {.warmup.since_us = 1, .now_ns = 1000};

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5; i++)
            step(&t, shapes[round]);
        learn_all(&t);
    }
    for (int round = 0; round < 3; round++) {
        double truth = (double)STEP_NS(shapes[round]) / 1e9;
        double learned = model_t_proc(&t.model, shapes[round]);

        assert_true(learned >= truth * 0.95);
        assert_true(learned <= truth * 1.05);
    }
    /* The shape that it began with, and not those that were tried afterwards. */
    assert_in_range(t.warmup.lost_us, 29900000, 30100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warm_up_is_what_went_into_no_step),
        cmocka_unit_test(warm_up_of_nothing_is_known_to_be_nothing),
        cmocka_unit_test(warm_up_needs_a_beginning_and_a_step),
        cmocka_unit_test(warm_up_of_each_new_shape_is_no_throughput),
    };

    return cmocka_run_group_tests_name("warmup", tests, NULL, NULL);
}
