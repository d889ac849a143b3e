/* SPDX-License-Identifier: Apache-2.0 */
#include "core/perf/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/units.h"

static void assert_near(double seen, double wanted)
{
    double off = seen - wanted;

    if (off > 1e-9 * wanted || off < -1e-9 * wanted)
        fail_msg("%.17g instead of %.17g", seen, wanted);
}

/* 10 ms + 2 ms a sample; 100 MB over 1 GB/s, 1 ms latency. */
static struct perf_model good_model(enum model_comm form)
{
    return (struct perf_model){
        .source = MODEL_MEASURED,
        .n_proc = 2,
        .proc = {{1, 12000000}, {11, 32000000}},
        .comm_form = form,
        .n_comm = 3,
        .comm = {{2, 40000000}, {4, 60000000}, {8, 80000000}},
        .comm_bytes = 100000000,
        .comm_alpha_ns = 1000000,
        .comm_bytes_per_sec = 1000000000,
    };
}

static void model_comm_is_zero_for_one_device(void **state)
{
    (void)state;
    for (int form = 0; form < MODEL_COMM_MAX; form++) {
        struct perf_model m = good_model((enum model_comm)form);

        assert_true(model_t_comm(&m, 1, 1) == 0.0);
    }
}

static void model_comm_follows_the_closed_forms(void **state)
{
    struct perf_model ring = good_model(MODEL_COMM_RING);
    struct perf_model tree = good_model(MODEL_COMM_TREE);

    (void)state;
    assert_near(model_t_comm(&ring, 2, 1), 2 * 0.001 + 2 * 0.5 * 0.1);
    assert_near(model_t_comm(&ring, 4, 1), 6 * 0.001 + 6.0 / 4 * 0.1);
    assert_near(model_t_comm(&tree, 2, 1), 2 * (0.001 + 0.1));
    assert_near(model_t_comm(&tree, 8, 1), 6 * (0.001 + 0.1));
    assert_near(model_t_comm(&tree, 3, 1), 2 * 1.584962500721156 * (0.001 + 0.1));
}

static void model_comm_table_is_linear_and_goes_on(void **state)
{
    struct perf_model m = good_model(MODEL_COMM_TABLE);

    (void)state;
    assert_near(model_t_comm(&m, 2, 1), 0.040);
    assert_near(model_t_comm(&m, 3, 1), 0.050);
    assert_near(model_t_comm(&m, 6, 1), 0.070);
    assert_near(model_t_comm(&m, 8, 1), 0.080);
    assert_near(model_t_comm(&m, 12, 1), 0.100);
    m.comm[2].time_ns = 20000000;
    assert_near(model_t_comm(&m, 9, 1), 0.010);
    assert_true(model_t_comm(&m, 100, 1) == 0.0);
}

static void model_comm_table_has_the_shape_of_a_ring_where_it_is_blank(void **state)
{
    struct perf_model m = good_model(MODEL_COMM_TABLE);

    (void)state;
    m.comm[0] = (struct comm_point){4, 60000000};
    m.n_comm = 1;
    assert_near(model_t_comm(&m, 4, 1), 0.060);
    assert_near(model_t_comm(&m, 2, 1), 0.040);
    assert_near(model_t_comm(&m, 16, 1), 0.075);
    m.comm[1] = (struct comm_point){8, 70000000};
    m.n_comm = 2;
    assert_near(model_t_comm(&m, 2, 1), 0.040);
    m.n_comm = 0;
    assert_true(model_t_comm(&m, 8, 1) == 0.0);
}

static void model_comm_over_several_nodes_has_a_factor(void **state)
{
    struct perf_model m = good_model(MODEL_COMM_TABLE);

    (void)state;
    assert_near(model_t_comm(&m, 4, 2), 0.060);
    m.inter_node_ppm = 2500000;
    assert_near(model_t_comm(&m, 4, 1), 0.060);
    assert_near(model_t_comm(&m, 4, 2), 0.150);
    assert_near(model_t_comm(&m, 4, 3), 0.150);
}

static void model_rate_is_that_of_the_slowest_rank(void **state)
{
    struct perf_model m = good_model(MODEL_COMM_RING);

    (void)state;
    assert_near(model_rate(&m, 1, 1, 8, 8, 1), 8 / 0.026);
    assert_near(model_rate(&m, 2, 1, 15, 8, 1), 15 / (0.026 + 0.102));
    assert_near(model_rate(&m, 2, 1, 16, 4, 2), 16 / (2 * 0.018 + 0.102));
    /* 9 samples in two passes: 5 and 4; m may be larger than the pass. */
    assert_near(model_rate(&m, 1, 1, 9, 7, 2), 9 / (2 * 0.020));
}

static void model_without_points_has_the_prior(void **state)
{
    const struct perf_model m = {.source = MODEL_PRIOR};

    (void)state;
    assert_near(model_rate(&m, 1, 1, 64, 64, 1), 1.0);
    assert_near(model_rate(&m, 2, 1, 64, 32, 1), 1.7411011265922482);
    assert_near(model_rate(&m, 10, 1, 64, 7, 1), 6.309573444801933);
}

static void assert_refused(const struct perf_model *model, const char *field)
{
    struct err err = {0};

    assert_true(model_check(model, &err) < 0);
    assert_string_equal(err.field, field);
    assert_true(strlen(err.text) > 0);
}

static void model_check_names_the_field_of_points(void **state)
{
    struct perf_model bad;

    (void)state;
    bad = good_model(MODEL_COMM_TABLE);
    assert_int_equal(model_check(&bad, NULL), 0);
    bad.n_proc = PROC_POINTS_MAX + 1;
    assert_refused(&bad, "proc");
    bad = good_model(MODEL_COMM_TABLE), bad.n_proc = 0;
    assert_refused(&bad, "proc");
    bad = good_model(MODEL_COMM_TABLE), bad.proc[0].micro_batch = 0;
    assert_refused(&bad, "proc");
    bad = good_model(MODEL_COMM_TABLE), bad.proc[1].micro_batch = 1;
    assert_refused(&bad, "proc");
    bad = good_model(MODEL_COMM_TABLE), bad.proc[1].time_ns = 0;
    assert_refused(&bad, "proc");
    bad = good_model(MODEL_COMM_TABLE), bad.n_comm = -1;
    assert_refused(&bad, "comm");
    bad = good_model(MODEL_COMM_TABLE), bad.comm[0].size = 1;
    assert_refused(&bad, "comm");
    bad = good_model(MODEL_COMM_TABLE), bad.comm[2].size = 4;
    assert_refused(&bad, "comm");
    bad = good_model(MODEL_COMM_TABLE), bad.comm[2].time_ns = -1;
    assert_refused(&bad, "comm");
}

static void model_check_names_the_field_of_numbers(void **state)
{
    struct perf_model bad;

    (void)state;
    bad = (struct perf_model){.source = MODEL_PRIOR};
    assert_int_equal(model_check(&bad, NULL), 0);
    bad = good_model(MODEL_COMM_RING), bad.source = MODEL_PRIOR;
    assert_refused(&bad, "source");
    bad = good_model(MODEL_COMM_RING), bad.source = MODEL_SOURCE_MAX;
    assert_refused(&bad, "source");
    bad = good_model(MODEL_COMM_RING), bad.comm_form = MODEL_COMM_MAX;
    assert_refused(&bad, "comm-form");
    bad = good_model(MODEL_COMM_RING), bad.largest_size = -1;
    assert_refused(&bad, "largest-size");
    bad = good_model(MODEL_COMM_RING), bad.comm_bytes = -1;
    assert_refused(&bad, "comm-bytes");
    bad = good_model(MODEL_COMM_RING), bad.comm_alpha_ns = -1;
    assert_refused(&bad, "comm-alpha");
    bad = good_model(MODEL_COMM_RING), bad.comm_bytes_per_sec = 0;
    assert_refused(&bad, "comm-bytes-per-sec");
    bad = good_model(MODEL_COMM_TABLE), bad.comm_bytes_per_sec = 0;
    assert_int_equal(model_check(&bad, NULL), 0);
    bad = good_model(MODEL_COMM_RING), bad.inter_node_ppm = -1;
    assert_refused(&bad, "inter-node");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_comm_is_zero_for_one_device),
        cmocka_unit_test(model_comm_follows_the_closed_forms),
        cmocka_unit_test(model_comm_table_is_linear_and_goes_on),
        cmocka_unit_test(model_comm_table_has_the_shape_of_a_ring_where_it_is_blank),
        cmocka_unit_test(model_comm_over_several_nodes_has_a_factor),
        cmocka_unit_test(model_rate_is_that_of_the_slowest_rank),
        cmocka_unit_test(model_without_points_has_the_prior),
        cmocka_unit_test(model_check_names_the_field_of_points),
        cmocka_unit_test(model_check_names_the_field_of_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
