/* SPDX-License-Identifier: Apache-2.0 */
#include "core/perf/learn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/units.h"

static struct learn_observation micro(int32_t m, int64_t time_ns, int32_t count)
{
    return (struct learn_observation){.kind = LEARN_MICRO,
                                      .size = 1,
                                      .micro_batch = m,
                                      .time_ns = time_ns,
                                      .count = count};
}

static void voda_2_the_first_measurement_replaces_the_prior(void **state)
{
    struct perf_model model = {0};
    struct learn_observation seen = micro(64, 138000000, 3);

    (void)state;
    assert_true(learn_observe(&model, &seen));
    assert_int_equal(model.source, MODEL_MEASURED);
    assert_int_equal(model.largest_size, 1);
    assert_int_equal(model.n_proc, 1);
    assert_false(learn_observe(&model, &seen));
    seen.time_ns = 140000000; /* 1.4 %: not worth an event */
    assert_false(learn_observe(&model, &seen));
    assert_int_equal(model.proc[0].time_ns, 138000000);
    seen.time_ns = 150000000;
    assert_true(learn_observe(&model, &seen));
    assert_int_equal(model.proc[0].time_ns, 150000000);
}

static void voda_2_a_profile_that_is_off_is_set_aside_as_a_whole(void **state)
{
    const struct perf_model profile = {
        .source = MODEL_MEASURED,
        .largest_size = 8,
        .n_proc = 2,
        .proc = {{1, 12000000}, {64, 138000000}},
    };
    struct learn_observation seen = micro(64, 180000000, 5);
    struct perf_model model;

    (void)state;
    learn_from_profile(&model, &profile);
    assert_int_equal(model.source, MODEL_FAMILY);
    seen.time_ns = 200000000;
    for (int i = 0; i < 3; i++) { /* 15 values are no verdict, and change nothing */
        assert_false(learn_observe(&model, &seen));
        assert_int_equal(model.source, MODEL_FAMILY);
        assert_int_equal(model.proc[1].time_ns, 138000000);
    }
    assert_true(learn_observe(&model, &seen));
    assert_int_equal(model.source, MODEL_MEASURED);
    assert_int_equal(model.n_proc, 1);
    learn_from_profile(&model, &profile);
    seen.count = LEARN_VALID_STEPS;
    assert_true(learn_observe(&model, &seen));
    assert_int_equal(model.n_proc, 1);
    assert_int_equal(model.largest_size, 1);
    learn_from_profile(&model, &profile);
    seen.time_ns = 150000000; /* 8 %: trusted */
    assert_true(learn_observe(&model, &seen));
    assert_int_equal(model.n_proc, 2);
    assert_int_equal(model.largest_size, 8);
    seen.time_ns = 300000000; /* its own by now: followed at once */
    assert_true(learn_observe(&model, &seen));
    assert_int_equal(model.n_proc, 2);
    assert_int_equal(model.proc[1].time_ns, 300000000);
}

static void a_profile_of_other_parameters_is_another_family(void **state)
{
    const struct perf_model profile = {.source = MODEL_MEASURED,
                                       .largest_size = 8,
                                       .comm_bytes = 4000,
                                       .n_proc = 1,
                                       .proc = {{64, 138000000}},
                                       .n_comm = 1,
                                       .comm = {{2, 5000000}}};
    struct learn_observation seen = micro(64, 138000000, 3);
    struct perf_model model;

    (void)state;
    seen.comm_bytes = 4000;
    learn_from_profile(&model, &profile);
    assert_true(learn_observe(&model, &seen));
    assert_int_equal(model.n_comm, 1);
    seen.comm_bytes = 8000;
    learn_from_profile(&model, &profile);
    assert_true(learn_observe(&model, &seen));
    assert_int_equal(model.comm_bytes, 8000);
    assert_int_equal(model.n_comm, 0);
    assert_int_equal(model.largest_size, 1);
    assert_int_equal(model.source, MODEL_MEASURED);
}

static void negative_communication_is_none(void **state)
{
    struct perf_model model = {0};
    struct learn_observation seen = {.kind = LEARN_COMM, .size = 2, .time_ns = -4000};

    (void)state;
    assert_true(learn_observe(&model, &seen));
    assert_int_equal(model.comm[0].time_ns, 0);
    seen.size = 1;
    assert_false(learn_observe(&model, &seen));
    assert_int_equal(model.n_comm, 1);
}

static void a_stated_model_learns_only_which_sizes_were_seen(void **state)
{
    struct perf_model model = {.source = MODEL_STATED, .n_proc = 1, .proc = {{8, 100}}};
    struct learn_observation seen = micro(8, 999, 50);

    (void)state;
    assert_true(learn_observe(&model, &seen));
    assert_int_equal(model.proc[0].time_ns, 100);
    assert_int_equal(model.source, MODEL_STATED);
    assert_false(learn_observe(&model, &seen));
}

static void r14_the_memory_ceiling_only_falls(void **state)
{
    struct perf_model model = {0};

    (void)state;
    assert_true(learn_out_of_memory(&model, 256));
    assert_int_equal(model.micro_limit, 128);
    assert_false(learn_out_of_memory(&model, 512));
    assert_true(learn_out_of_memory(&model, 128));
    assert_true(learn_out_of_memory(&model, 3));
    assert_int_equal(model.micro_limit, 1);
    assert_false(learn_out_of_memory(&model, 1));
}

static void whatever_is_observed_the_record_stays_sound(void **state)
{
    struct rng rng = rng_stream(7, "learn");

    (void)state;
    print_message("# seed 7\n");
    for (int run = 0; run < 200; run++) {
        struct perf_model model = {0};

        for (int i = 0; i < 200; i++) {
            struct learn_observation seen = {
                .kind = (enum learn_kind)rng_below(&rng, 3),
                .size = (int32_t)rng_below(&rng, 80) - 1,
                .micro_batch = (int32_t)rng_below(&rng, 200) - 1,
                .accumulation = (int32_t)rng_below(&rng, 4),
                .count = (int32_t)rng_below(&rng, 40),
                .time_ns = (int64_t)rng_below(&rng, 1000000) - 1000,
                .comm_bytes = (int64_t)rng_below(&rng, 3),
            };

            (void)learn_observe(&model, &seen);
            assert_int_equal(model_check(&model, NULL), 0);
        }
        assert_int_equal(model.n_proc, PROC_POINTS_MAX);
        assert_int_equal(model.n_comm, COMM_POINTS_MAX);
    }
}

static const struct calibration grid = {
    .n_sizes = 2,
    .n_bytes = 2,
    .sizes = {2, 4},
    .bytes = {1000000, 3000000},
    .time_ns = {{1000, 3000}, {2000, 6000}},
};

static void calibration_is_linear_in_bytes_and_in_size(void **state)
{
    (void)state;
    assert_int_equal(calibration_time_ns(&grid, 1, 1000000), 0);
    assert_int_equal(calibration_time_ns(&grid, 2, 2000000), 2000);
    assert_int_equal(calibration_time_ns(&grid, 3, 2000000), 3000);
    assert_int_equal(calibration_time_ns(&grid, 4, 5000000), 10000);
    assert_int_equal(calibration_time_ns(&grid, 8, 1000000), 4000);
    assert_int_equal(calibration_time_ns(&grid, 2, 0), 0); /* not below 0 */
}

static void calibration_fills_only_what_nobody_measured(void **state)
{
    struct learn_observation seen = {.kind = LEARN_COMM, .size = 2, .time_ns = 777};
    struct perf_model model = {0};

    (void)state;
    assert_false(learn_calibrate(&model, &grid, 8)); /* bytes are not known */
    seen.comm_bytes = 1000000;
    assert_true(learn_observe(&model, &seen));
    assert_true(learn_calibrate(&model, &grid, 8));
    assert_int_equal(model.n_comm, 3);
    assert_int_equal(model.comm[0].time_ns, 777);
    assert_int_equal(model.comm[1].time_ns, 2000);
    assert_int_equal(model.comm[2].time_ns, 4000);
    assert_false(learn_calibrate(&model, &grid, 8));
    assert_int_equal(model_check(&model, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(voda_2_the_first_measurement_replaces_the_prior),
        cmocka_unit_test(voda_2_a_profile_that_is_off_is_set_aside_as_a_whole),
        cmocka_unit_test(a_profile_of_other_parameters_is_another_family),
        cmocka_unit_test(negative_communication_is_none),
        cmocka_unit_test(a_stated_model_learns_only_which_sizes_were_seen),
        cmocka_unit_test(r14_the_memory_ceiling_only_falls),
        cmocka_unit_test(whatever_is_observed_the_record_stays_sound),
        cmocka_unit_test(calibration_is_linear_in_bytes_and_in_size),
        cmocka_unit_test(calibration_fills_only_what_nobody_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
