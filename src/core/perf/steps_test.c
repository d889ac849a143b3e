/* SPDX-License-Identifier: Apache-2.0 */
#include "core/perf/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/units.h"

static struct learn_observation step(int32_t size, int32_t m, int32_t a, int64_t time_ns)
{
    return (struct learn_observation){.kind = LEARN_STEP,
                                      .size = size,
                                      .micro_batch = m,
                                      .accumulation = a,
                                      .time_ns = time_ns,
                                      .count = 3};
}

static bool see(struct perf_model *model, int32_t size, int32_t m, int32_t a, int64_t ns)
{
    const struct learn_observation seen = step(size, m, a, ns);

    return learn_observe(model, &seen);
}

static int64_t predicted(const struct perf_model *model, int32_t size, int32_t m,
                         int32_t a)
{
    double t = (double)a * model_t_proc(model, m) + model_t_comm(model, size, 1);

    return (int64_t)(t * 1e9 + 0.5);
}

static void assert_predicts(const struct perf_model *model, int32_t size, int32_t m,
                            int32_t a, int64_t ns)
{
    assert_in_range(predicted(model, size, m, a), ns - 1, ns + 1);
}

static void the_model_says_again_what_every_size_took(void **state)
{
    struct perf_model model = {0};

    (void)state;
    assert_true(see(&model, 1, 32, 2, 400000000));
    assert_int_equal(model.source, MODEL_MEASURED);
    assert_int_equal(model.proc[0].time_ns, 200000000);
    assert_true(see(&model, 2, 32, 1, 260000000));
    assert_true(see(&model, 4, 16, 1, 900000000));
    assert_predicts(&model, 1, 32, 2, 400000000);
    assert_predicts(&model, 2, 32, 1, 260000000);
    assert_predicts(&model, 4, 16, 1, 900000000);
    assert_int_equal(model.largest_size, 4);
    assert_int_equal(model_check(&model, NULL), 0);
}

/* Field by field: what lies between the fields is nobody's. */
static void assert_same_model(const struct perf_model *a, const struct perf_model *b)
{
    assert_int_equal(a->source, b->source);
    assert_int_equal(a->largest_size, b->largest_size);
    assert_int_equal(a->n_proc, b->n_proc);
    assert_int_equal(a->n_comm, b->n_comm);
    assert_int_equal(a->n_steps, b->n_steps);
    for (int32_t i = 0; i < a->n_proc; i++) {
        assert_int_equal(a->proc[i].micro_batch, b->proc[i].micro_batch);
        assert_int_equal(a->proc[i].time_ns, b->proc[i].time_ns);
    }
    for (int32_t i = 0; i < a->n_comm; i++) {
        assert_int_equal(a->comm[i].size, b->comm[i].size);
        assert_int_equal(a->comm[i].time_ns, b->comm[i].time_ns);
    }
    for (int32_t i = 0; i < a->n_steps; i++) {
        assert_int_equal(a->steps[i].size, b->steps[i].size);
        assert_int_equal(a->steps[i].micro_batch, b->steps[i].micro_batch);
        assert_int_equal(a->steps[i].accumulation, b->steps[i].accumulation);
        assert_int_equal(a->steps[i].time_ns, b->steps[i].time_ns);
    }
}

static void the_order_of_the_sizes_does_not_matter(void **state)
{
    struct perf_model up = {0}, down = {0};

    (void)state;
    assert_true(see(&down, 4, 16, 1, 900000000));
    assert_predicts(&down, 4, 16, 1, 900000000); /* all of it is work, as far as known */
    assert_true(see(&down, 2, 32, 1, 260000000));
    assert_predicts(&down, 4, 16, 1, 900000000);
    assert_predicts(&down, 2, 32, 1, 260000000);
    assert_true(see(&down, 1, 64, 1, 400000000));
    (void)see(&up, 1, 64, 1, 400000000);
    (void)see(&up, 2, 32, 1, 260000000);
    (void)see(&up, 4, 16, 1, 900000000);
    assert_int_equal(up.n_comm, 2);
    assert_same_model(&up, &down);
}

static void a_step_faster_than_its_share_lowers_the_curve(void **state)
{
    struct perf_model model = {0};

    (void)state;
    (void)see(&model, 1, 64, 1, 400000000);
    (void)see(&model, 2, 32, 1, 150000000);
    (void)see(&model, 4, 16, 1, 110000000);
    (void)see(&model, 8, 8, 1, 30000000);
    assert_predicts(&model, 1, 64, 1, 400000000);
    assert_predicts(&model, 2, 32, 1, 150000000);
    assert_predicts(&model, 4, 16, 1, 110000000);
    assert_predicts(&model, 8, 8, 1, 30000000);
    (void)see(&model, 3, 64, 1, 300000000); /* a pass of 64 took longer */
    assert_int_equal(model.comm[1].size, 3);
    assert_int_equal(model.comm[1].time_ns, 0);
}

static void a_later_step_moves_the_model_and_a_near_one_does_not(void **state)
{
    struct perf_model model = {0};

    (void)state;
    assert_true(see(&model, 1, 64, 1, 400000000));
    assert_true(see(&model, 2, 32, 1, 260000000));
    assert_false(see(&model, 1, 64, 1, 410000000));
    assert_false(see(&model, 2, 32, 1, 270000000));
    assert_true(see(&model, 1, 64, 1, 500000000));
    assert_predicts(&model, 1, 64, 1, 500000000);
    assert_predicts(&model, 2, 32, 1, 260000000);
    assert_true(see(&model, 2, 32, 1, 600000000));
    assert_predicts(&model, 2, 32, 1, 600000000);
}

static void a_finer_measurement_drops_what_steps_implied(void **state)
{
    const struct learn_observation comm = {
        .kind = LEARN_COMM, .size = 2, .time_ns = 7000};
    struct learn_observation micro = step(2, 32, 1, 90000000);
    struct perf_model model = {0};

    (void)state;
    micro.kind = LEARN_MICRO;
    (void)see(&model, 1, 64, 1, 400000000);
    (void)see(&model, 4, 16, 1, 900000000);
    assert_true(learn_observe(&model, &micro));
    assert_int_equal(model.n_steps, 0);
    assert_int_equal(model.n_proc, 1);
    assert_int_equal(model.proc[0].time_ns, 90000000);
    assert_int_equal(model.n_comm, 0);
    assert_int_equal(model.largest_size, 4);
    assert_false(see(&model, 2, 32, 1, 120000000)); /* steps count no longer */
    model = (struct perf_model){0};
    (void)see(&model, 1, 64, 1, 400000000);
    assert_true(learn_observe(&model, &comm));
    assert_int_equal(model.source, MODEL_PRIOR); /* not a measured time beside a guess */
    assert_int_equal(model.n_proc, 0);
    assert_int_equal(model.n_comm, 1);
}

static void a_guess_and_a_measurement_are_never_in_one_ratio(void **state)
{
    struct perf_model profile = {0}, model;

    (void)state;
    (void)see(&profile, 1, 64, 1, 400000000);
    (void)see(&profile, 2, 32, 1, 260000000);
    learn_from_profile(&model, &profile);
    for (int i = 0; i < 6; i++) /* 18 values that contradict: counted, not mixed in */
        assert_false(see(&model, 2, 32, 1, 600000000));
    assert_int_equal(model.source, MODEL_FAMILY);
    assert_predicts(&model, 2, 32, 1, 260000000);
    assert_true(see(&model, 2, 32, 1, 600000000));
    assert_int_equal(model.source, MODEL_MEASURED);
    assert_int_equal(model.n_steps, 1);
    assert_predicts(&model, 2, 32, 1, 600000000);
    learn_from_profile(&model, &profile);
    assert_true(see(&model, 2, 32, 1, 265000000)); /* agrees: the profile is its own */
    assert_int_equal(model.source, MODEL_MEASURED);
    assert_int_equal(model.n_steps, 2);
}

static void steps_without_a_pass_say_only_that_the_size_was_seen(void **state)
{
    struct perf_model model = {0};

    (void)state;
    assert_true(see(&model, 2, 0, 1, 1000));
    assert_false(see(&model, 2, 8, 0, 1000));
    assert_false(see(&model, 2, 8, 1, 0));
    assert_int_equal(model.source, MODEL_PRIOR);
    assert_int_equal(model.largest_size, 2);
}

static void fewer_devices_are_tried_until_more_are_faster(void **state)
{
    const struct size_set sizes = {.min = 1, .max = 8, .step = 1};
    const struct size_set pairs = {.min = 2, .max = 8, .step = 2};
    struct perf_model model = {0};

    (void)state;
    assert_int_equal(steps_next_trial(&model, &sizes), 0);
    (void)see(&model, 8, 8, 1, 100000000);
    assert_int_equal(steps_next_trial(&model, &sizes), 4);
    assert_int_equal(steps_next_trial(&model, &pairs), 4);
    (void)see(&model, 4, 16, 1, 150000000); /* slower: fewer than 4 are slower still */
    assert_int_equal(steps_next_trial(&model, &sizes), 0);
    (void)see(&model, 4, 16, 1, 90000000);
    assert_int_equal(steps_next_trial(&model, &sizes), 2);
    (void)see(&model, 2, 32, 1, 80000000);
    assert_int_equal(steps_next_trial(&model, &sizes), 1);
    assert_int_equal(steps_next_trial(&model, &pairs), 0);
    (void)see(&model, 1, 64, 1, 70000000);
    assert_int_equal(steps_next_trial(&model, &sizes), 0);
}

static void whatever_steps_come_the_record_stays_sound(void **state)
{
    struct rng rng = rng_stream(11, "steps");

    (void)state;
    print_message("# seed 11\n");
    for (int run = 0; run < 200; run++) {
        struct perf_model model = {0};

        (void)see(&model, 1, 1, 1, 1);
        for (int i = 0; i < 200; i++) {
            (void)see(&model, (int32_t)rng_below(&rng, 40), (int32_t)rng_below(&rng, 9),
                      (int32_t)rng_below(&rng, 3), (int64_t)rng_below(&rng, 1000000));
            assert_int_equal(model_check(&model, NULL), 0);
        }
        assert_int_equal(model.n_steps, STEP_POINTS_MAX);
        assert_int_equal(model.steps[0].size, 1); /* the anchor stays */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_says_again_what_every_size_took),
        cmocka_unit_test(the_order_of_the_sizes_does_not_matter),
        cmocka_unit_test(a_step_faster_than_its_share_lowers_the_curve),
        cmocka_unit_test(a_later_step_moves_the_model_and_a_near_one_does_not),
        cmocka_unit_test(a_finer_measurement_drops_what_steps_implied),
        cmocka_unit_test(a_guess_and_a_measurement_are_never_in_one_ratio),
        cmocka_unit_test(steps_without_a_pass_say_only_that_the_size_was_seen),
        cmocka_unit_test(fewer_devices_are_tried_until_more_are_faster),
        cmocka_unit_test(whatever_steps_come_the_record_stays_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
