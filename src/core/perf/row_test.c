/* SPDX-License-Identifier: Apache-2.0 */
#include "core/perf/row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/units.h"
#include "core/perf/split.h"
#include "support/mem_fault.h"

#define SEED 20260103u

/* A class of seed-paper.md: T_proc = fixed + each * b, p parameters. */
struct shape {
    int64_t fixed_us;
    int64_t each_us;
    int64_t params;
    int32_t gpu_batch;
    int32_t lo;
    int32_t hi;
};

static struct perf_model model_of(const struct shape *s, int64_t alpha_ns, int64_t speed)
{
    return (struct perf_model){
        .source = MODEL_MEASURED,
        .n_proc = 2,
        .proc = {{1, (s->fixed_us + s->each_us) * 1000},
                 {s->gpu_batch, (s->fixed_us + s->each_us * s->gpu_batch) * 1000}},
        .comm_form = MODEL_COMM_RING,
        .comm_bytes = 4 * s->params,
        .comm_alpha_ns = alpha_ns,
        .comm_bytes_per_sec = speed,
    };
}

static struct job_spec spec_of(const struct shape *s, int32_t k_max)
{
    struct job_spec spec = {
        .id = 1,
        .name = "job",
        .level = JOB_ELASTIC,
        .sizes = {.min = 1, .max = k_max},
        .batch_min = s->lo,
        .batch_max = s->hi,
        .gpu_batch = s->gpu_batch,
        .accumulate = JOB_ACCUMULATE_NEVER,
    };

    job_spec_complete(&spec);
    assert_int_equal(job_spec_check(&spec, NULL), 0);
    return spec;
}

static void assert_option(const struct row *row, int32_t size, int64_t value,
                          int32_t batch, int32_t micro, int64_t slack)
{
    const struct row_option *o = row_find(row, size);

    assert_non_null(o);
    if (o->value < value - slack || o->value > value + slack)
        fail_msg("size %d has value %lld instead of %lld", size, (long long)o->value,
                 (long long)value);
    assert_int_equal(o->global_batch, batch);
    assert_int_equal(o->micro_batch, micro);
}

/* Section 6.2; T_comm over 10 Gbit/s without latency. */
static const struct shape golden_a = {10000, 2000, 25000000, 64, 32, 256};
static const struct shape golden_b = {5000, 500, 60000000, 128, 16, 256};
#define GOLDEN_SPEED 1250000000

static void row_has_the_golden_values_of_the_paper(void **state)
{
    const struct row_rule rule = {.batch = ROW_BATCH_JOINT};
    struct perf_model ma = model_of(&golden_a, 0, GOLDEN_SPEED);
    struct perf_model mb = model_of(&golden_b, 0, GOLDEN_SPEED);
    struct job_spec a = spec_of(&golden_a, 4), b = spec_of(&golden_b, 4);
    struct row row;

    (void)state;
    row_init(&row);
    assert_int_equal(row_build(&row, &a, &ma, &rule, NULL), 0);
    assert_int_equal(row.n_options, 4);
    assert_option(&row, 1, 1000000, 64, 64, 2);
    assert_option(&row, 2, 1266055, 128, 64, 2);
    assert_option(&row, 3, 1692098, 192, 64, 2);
    assert_option(&row, 4, 2139535, 256, 64, 2);
    assert_int_equal(row_build(&row, &b, &mb, &rule, NULL), 0);
    assert_option(&row, 1, 1000000, 128, 128, 2);
    assert_option(&row, 2, 528736, 256, 128, 2);
    /* Equal splits reach 0.452919 with 3 * 85; the uneven 256 is a little better. */
    assert_option(&row, 3, 453947, 256, 86, 2);
    assert_option(&row, 4, 424615, 256, 64, 2);
    row_release(&row);
}

static void row_without_256_has_the_equal_split_of_the_paper(void **state)
{
    struct row_rule rule = {.batch = ROW_BATCH_JOINT};
    struct perf_model mb = model_of(&golden_b, 0, GOLDEN_SPEED);
    struct shape equal = golden_b;
    struct job_spec b;
    struct row row;

    (void)state;
    equal.hi = 255; /* 3 * 85: the best equal split of the golden table */
    b = spec_of(&equal, 4);
    row_init(&row);
    assert_int_equal(row_build(&row, &b, &mb, &rule, NULL), 0);
    assert_option(&row, 3, 452919, 255, 85, 2);
    row_release(&row);
}

static void row_has_the_reference_values_of_the_four_classes(void **state)
{
    static const struct {
        struct shape shape;
        double values[5]; /* k = 1, 2, 4, 8, 10 */
        int32_t micro[5];
    } classes[] = {
        {{25000, 5000, 25000000, 64, 32, 512},
         {1.000, 1.823, 3.488, 6.819, 8.043},
         {64, 64, 64, 64, 51}},
        {{20000, 1600, 45000000, 64, 32, 512},
         {1.000, 1.341, 2.299, 4.280, 4.614},
         {64, 64, 64, 64, 51}},
        /* At k = 10 the uneven 1024 (103 on the slowest) beats 10 * 102. */
        {{15000, 500, 120000000, 128, 64, 1024},
         {1.000, 0.661, 0.989, 1.754, 1.774},
         {128, 128, 128, 128, 103}},
        {{40000, 100, 3000000, 256, 64, 1024},
         {1.000, 1.880, 3.634, 4.288, 4.425},
         {256, 256, 256, 128, 103}},
    };
    static const int32_t sizes[] = {1, 2, 4, 8, 10};
    const struct row_rule rule = {.batch = ROW_BATCH_JOINT};
    struct row row;

    (void)state;
    row_init(&row);
    for (size_t c = 0; c < ARRAY_SIZE(classes); c++) {
        struct perf_model model = model_of(&classes[c].shape, 100000, 3000000000);
        struct job_spec spec = spec_of(&classes[c].shape, 10);

        assert_int_equal(row_build(&row, &spec, &model, &rule, NULL), 0);
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
            int64_t value = (int64_t)(classes[c].values[i] * 1e6 + 0.5);
            const struct row_option *o = row_find(&row, sizes[i]);

            assert_non_null(o);
            assert_option(&row, sizes[i], value, o->global_batch, classes[c].micro[i],
                          500);
        }
    }
    row_release(&row);
}

static void row_of_a_fixed_batch_follows_the_baselines(void **state)
{
    struct row_rule rule = {.batch = ROW_BATCH_MAX};
    struct perf_model ma = model_of(&golden_a, 0, GOLDEN_SPEED);
    struct perf_model mb = model_of(&golden_b, 0, GOLDEN_SPEED);
    struct job_spec a = spec_of(&golden_a, 8), b = spec_of(&golden_b, 8);
    struct row row;

    (void)state;
    row_init(&row);
    assert_int_equal(row_build(&row, &a, &ma, &rule, NULL), 0);
    assert_int_equal(row_min_size(&row), 4);
    assert_option(&row, 4, 2139535, 256, 64, 2);
    assert_int_equal(row_build(&row, &b, &mb, &rule, NULL), 0);
    assert_int_equal(row_min_size(&row), 2);
    assert_option(&row, 3, 453947, 256, 86, 2);
    rule.batch = ROW_BATCH_MIN;
    assert_int_equal(row_build(&row, &a, &ma, &rule, NULL), 0);
    assert_option(&row, 1, 932432, 32, 32, 2);
    rule.batch = ROW_BATCH_MAX_ACCUM;
    assert_int_equal(row_build(&row, &a, &ma, &rule, NULL), 0);
    assert_int_equal(row_min_size(&row), 1);
    assert_option(&row, 1, 1000000, 256, 64, 2);
    assert_int_equal(row_find(&row, 1)->accumulation, 4);
    assert_int_equal(row_find(&row, 3)->accumulation, 2);
    assert_int_equal(row_find(&row, 3)->micro_batch, 43);
    rule.batch = ROW_BATCH_BASE;
    a.batch_base = 128;
    assert_int_equal(row_build(&row, &a, &ma, &rule, NULL), 0);
    assert_int_equal(row_min_size(&row), 2);
    assert_option(&row, 4, 1422680, 128, 32, 2);
    a.accumulate = JOB_ACCUMULATE_NEEDED;
    assert_int_equal(row_build(&row, &a, &ma, &rule, NULL), 0);
    assert_int_equal(row_min_size(&row), 1);
    assert_int_equal(row_find(&row, 1)->accumulation, 2);
    row_release(&row);
}

static void row_of_a_fixed_batch_ends_where_devices_outnumber_samples(void **state)
{
    struct row_rule rule = {.batch = ROW_BATCH_MIN};
    struct shape s = {1000, 1000, 0, 8, 3, 64};
    struct perf_model model = model_of(&s, 0, 1);
    struct job_spec spec = spec_of(&s, 8);
    struct row row;

    (void)state;
    row_init(&row);
    assert_int_equal(row_build(&row, &spec, &model, &rule, NULL), 0);
    assert_int_equal(row.n_options, 3);
    row_release(&row);
}

static void row_accumulates_only_where_needed(void **state)
{
    const struct row_rule rule = {.batch = ROW_BATCH_JOINT};
    struct shape s = {10000, 1000, 1000000, 16, 64, 256};
    struct perf_model model = model_of(&s, 1000, 1000000000);
    struct job_spec spec = spec_of(&s, 8);
    struct row row;

    (void)state;
    row_init(&row);
    assert_int_equal(row_build(&row, &spec, &model, &rule, NULL), 0);
    assert_int_equal(row_min_size(&row), 4);
    spec.accumulate = JOB_ACCUMULATE_NEEDED;
    assert_int_equal(row_build(&row, &spec, &model, &rule, NULL), 0);
    assert_int_equal(row_min_size(&row), 1);
    for (int32_t k = 1; k <= 8; k++)
        assert_int_equal(row_find(&row, k)->accumulation > 1, k < 4);
    assert_int_equal(row_find(&row, 4)->global_batch, 64);
    spec.accumulate = JOB_ACCUMULATE_FREE;
    assert_int_equal(row_build(&row, &spec, &model, &rule, NULL), 0);
    assert_int_equal(row_find(&row, 4)->accumulation, 4);
    assert_int_equal(row_find(&row, 4)->global_batch, 256);
    row_release(&row);
}

static void row_breaks_ties_by_the_batch_in_force_then_the_smaller(void **state)
{
    struct row_rule rule = {.batch = ROW_BATCH_JOINT};
    const struct perf_model prior = {.source = MODEL_PRIOR};
    struct shape s = {0, 1000, 0, 64, 32, 256};
    struct perf_model flat = {
        .source = MODEL_MEASURED, .n_proc = 1, .proc = {{8, 8000000}}};
    struct job_spec spec = spec_of(&s, 4);
    struct row row;

    (void)state;
    row_init(&row);
    assert_int_equal(row_build(&row, &spec, &flat, &rule, NULL), 0);
    assert_int_equal(row_find(&row, 1)->global_batch, 32);
    assert_int_equal(row_find(&row, 2)->global_batch, 32);
    rule.batch_in_force = 48;
    assert_int_equal(row_build(&row, &spec, &flat, &rule, NULL), 0);
    assert_int_equal(row_find(&row, 1)->global_batch, 48);
    assert_int_equal(row_find(&row, 4)->global_batch, 48);
    assert_int_equal(row_build(&row, &spec, &prior, &rule, NULL), 0);
    assert_int_equal(row_find(&row, 1)->global_batch, 48);
    assert_int_equal(row_find(&row, 2)->value, 1741101);
    rule.batch_in_force = 0;
    assert_int_equal(row_build(&row, &spec, &prior, &rule, NULL), 0);
    assert_int_equal(row_find(&row, 3)->global_batch, 32);
    row_release(&row);
}

static void row_keeps_a_base_batch_in_force_that_no_size_divides(void **state)
{
    const struct row_rule rule = {.batch = ROW_BATCH_JOINT, .batch_in_force = 50};
    const struct perf_model prior = {.source = MODEL_PRIOR};
    struct shape s = {0, 1000, 0, 64, 32, 256};
    struct job_spec spec = spec_of(&s, 4);
    struct row row;

    (void)state;
    spec.batch_base = 50;
    row_init(&row);
    assert_int_equal(row_build(&row, &spec, &prior, &rule, NULL), 0);
    assert_int_equal(row_find(&row, 3)->global_batch, 50);
    assert_int_equal(row_find(&row, 3)->micro_batch, 17);
    row_release(&row);
}

static void row_takes_many_passes_where_small_ones_are_much_faster(void **state)
{
    const struct row_rule rule = {.batch = ROW_BATCH_JOINT};
    struct perf_model model = {
        .source = MODEL_MEASURED, .n_proc = 2, .proc = {{4, 4000000}, {8, 80000000}}};
    struct shape s = {0, 0, 0, 0, 1000, 1000};
    struct job_spec spec = spec_of(&s, 1);
    struct row row;

    (void)state;
    spec.accumulate = JOB_ACCUMULATE_FREE;
    row_init(&row);
    assert_int_equal(row_build(&row, &spec, &model, &rule, NULL), 0);
    assert_int_equal(row_find(&row, 1)->micro_batch, 4);
    assert_int_equal(row_find(&row, 1)->accumulation, 250);
    row_release(&row);
}

static void row_of_a_job_without_batch_has_every_size(void **state)
{
    const struct row_rule rule = {.batch = ROW_BATCH_MAX};
    const struct perf_model prior = {.source = MODEL_PRIOR};
    struct perf_model model = {
        .source = MODEL_STATED,
        .n_proc = 1,
        .proc = {{1, 100000000}},
        .n_comm = 1,
        .comm = {{2, 25000000}},
    };
    struct job_spec spec = {
        .name = "job", .sizes = {.min = 2, .max = 8, .n_listed = 2, .listed = {2, 8}}};
    struct row row;

    (void)state;
    job_spec_complete(&spec);
    row_init(&row);
    assert_int_equal(row_build(&row, &spec, &prior, &rule, NULL), 0);
    assert_int_equal(row.n_options, 2);
    assert_option(&row, 2, 1741101, 0, 0, 0);
    assert_option(&row, 8, 5278032, 0, 0, 0);
    assert_null(row_find(&row, 4));
    assert_int_equal(row_find(&row, 8)->accumulation, 0);
    assert_int_equal(row_build(&row, &spec, &model, &rule, NULL), 0);
    assert_option(&row, 2, 1600000, 0, 0, 0);
    row_release(&row);
}

static void row_values_carry_the_weight_and_stay_in_bounds(void **state)
{
    const struct row_rule rule = {.batch = ROW_BATCH_JOINT};
    const struct perf_model prior = {.source = MODEL_PRIOR};
    struct job_spec spec = {.name = "job",
                            .sizes = {.min = 1, .max = 8192, .step = 8191}};
    struct row row;

    (void)state;
    job_spec_complete(&spec);
    spec.weight_ppm = 1500000;
    row_init(&row);
    assert_int_equal(row_build(&row, &spec, &prior, &rule, NULL), 0);
    assert_int_equal(row.options[0].value, 1500000);
    spec.weight_ppm = 1000 * PPM;
    assert_int_equal(row_build(&row, &spec, &prior, &rule, NULL), 0);
    assert_int_equal(row.options[0].value, 1000000000);
    assert_int_equal(row.options[1].value, VALUE_MAX);
    spec.weight_ppm = 1;
    assert_int_equal(row_build(&row, &spec, &prior, &rule, NULL), 0);
    assert_int_equal(row.options[0].value, 1);
    row_release(&row);
}

static void row_ends_at_the_size_limit_but_keeps_the_smallest(void **state)
{
    struct row_rule rule = {.batch = ROW_BATCH_JOINT, .size_limit = 4};
    const struct perf_model prior = {.source = MODEL_PRIOR};
    struct job_spec spec = {.name = "job", .sizes = {.min = 3, .max = 9}};
    struct row row;

    (void)state;
    job_spec_complete(&spec);
    row_init(&row);
    assert_int_equal(row_build(&row, &spec, &prior, &rule, NULL), 0);
    assert_int_equal(row.n_options, 2);
    rule.size_limit = 2;
    assert_int_equal(row_build(&row, &spec, &prior, &rule, NULL), 0);
    assert_int_equal(row.n_options, 1);
    assert_int_equal(row_min_size(&row), 3);
    row_release(&row);
}

static void row_counts_nodes(void **state)
{
    struct row_rule rule = {.batch = ROW_BATCH_JOINT, .devices_per_node = 4};
    struct shape s = {10000, 1000, 25000000, 16, 8, 256};
    struct perf_model model = model_of(&s, 0, 1000000000);
    struct job_spec spec = spec_of(&s, 8);
    struct row one, two;

    (void)state;
    model.inter_node_ppm = 3 * PPM;
    row_init(&one);
    row_init(&two);
    assert_int_equal(row_build(&one, &spec, &model, &rule, NULL), 0);
    rule.nodes_for_size = 3;
    rule.nodes_needed = 2;
    assert_int_equal(row_build(&two, &spec, &model, &rule, NULL), 0);
    assert_true(row_find(&two, 3)->value < row_find(&one, 3)->value);
    assert_int_equal(row_find(&two, 4)->value, row_find(&one, 4)->value);
    assert_true(row_find(&one, 5)->value < row_find(&one, 4)->value);
    row_release(&one);
    row_release(&two);
}

static void assert_infeasible(const struct job_spec *spec, enum row_batch batch,
                              const char *text)
{
    const struct row_rule rule = {.batch = batch};
    const struct perf_model prior = {.source = MODEL_PRIOR};
    struct err err = {0};
    struct row row;

    row_init(&row);
    assert_int_equal(row_build(&row, spec, &prior, &rule, &err), E_INFEASIBLE);
    assert_int_equal(row.n_options, 0);
    assert_string_equal(err.field, "batch");
    assert_string_equal(err.text, text);
    row_release(&row);
}

static void row_without_any_plan_says_what_would_be_accepted(void **state)
{
    struct shape s = {1000, 1000, 0, 16, 100, 256};
    struct job_spec spec = spec_of(&s, 4);

    (void)state;
    assert_infeasible(&spec, ROW_BATCH_JOINT,
                      "of 100 samples does not fit: 4 gpus with at most 16 samples each "
                      "(gpu-batch) hold 64 at once; give a batch of at most 64, a "
                      "gpu-batch of at least 25, more gpus, or accumulate: needed");
    assert_infeasible(&spec, ROW_BATCH_MAX,
                      "of 256 samples does not fit: 4 gpus with at most 16 samples each "
                      "(gpu-batch) hold 64 at once; give a batch of at most 64, a "
                      "gpu-batch of at least 64, or more gpus");
    spec.batch_min = spec.batch_max = spec.batch_base = 3;
    spec.sizes.min = 4;
    assert_infeasible(&spec, ROW_BATCH_JOINT,
                      "is at most 3 samples, fewer than the 4 gpus of the smallest "
                      "size; give a batch of at least 4, or allow 3 gpus or fewer");
}

static void row_of_255_samples_has_two_devices_at_least(void **state)
{
    const struct row_rule rule = {.batch = ROW_BATCH_JOINT};
    struct shape s = {1000, 1000, 0, 128, 255, 255};
    struct perf_model model = model_of(&s, 0, 1);
    struct job_spec spec = spec_of(&s, 4);
    struct row row;

    (void)state;
    row_init(&row);
    assert_int_equal(row_build(&row, &spec, &model, &rule, NULL), 0);
    assert_int_equal(row_min_size(&row), 2);
    assert_int_equal(row_find(&row, 2)->micro_batch, 128);
    row_release(&row);
}

static void row_survives_failing_allocations(void **state)
{
    const struct row_rule rule = {.batch = ROW_BATCH_JOINT};
    const struct perf_model prior = {.source = MODEL_PRIOR};
    struct job_spec spec = {.name = "job", .sizes = {.min = 1, .max = 100}};
    struct row row;

    (void)state;
    job_spec_complete(&spec);
    for (uint64_t nth = 1;; nth++) {
        int rc;

        row_init(&row);
        mem_fault_arm(nth);
        rc = row_build(&row, &spec, &prior, &rule, NULL);
        if (!mem_fault_disarm())
            break;
        assert_int_equal(rc, E_NOMEM);
        assert_int_equal(row.n_options, 0);
        row_release(&row);
    }
    assert_int_equal(row.n_options, 100);
    row_release(&row);
    assert_int_equal(mem_fault_blocks(), 0);
}

/* The same by plain enumeration. */

struct naive {
    const struct job_spec *spec;
    const struct perf_model *model;
    int32_t limit;
    int32_t size;
    double best; /* 0: none */
};

static void naive_try(struct naive *n, int32_t batch, int32_t passes)
{
    int32_t share = (int32_t)i64_div_up(batch, n->size);
    int32_t pass = (int32_t)i64_div_up(share, passes);
    double rate;

    if (batch < n->size || passes > share || pass > n->limit)
        return;
    rate = model_rate(n->model, n->size, 1, batch, pass, passes);
    n->best = rate > n->best ? rate : n->best;
}

static void naive_passes(struct naive *n, int32_t passes)
{
    const struct job_spec *spec = n->spec;

    for (int32_t m = 1; m <= n->limit; m++) {
        int64_t batch = (int64_t)n->size * passes * m;

        if (batch >= spec->batch_min && batch <= spec->batch_max)
            naive_try(n, (int32_t)batch, passes);
    }
    naive_try(n, spec->batch_min, passes);
    naive_try(n, spec->batch_max, passes);
    naive_try(n, spec->batch_base, passes);
}

static double naive_best(struct naive *n, int32_t size)
{
    const struct job_spec *spec = n->spec;
    bool is_free =
        spec->accumulate == JOB_ACCUMULATE_FREE ||
        (spec->accumulate == JOB_ACCUMULATE_NEEDED && spec->batch_min == spec->batch_max);

    n->size = size;
    n->best = 0.0;
    naive_passes(n, 1);
    if (is_free || (n->best == 0.0 && spec->accumulate == JOB_ACCUMULATE_NEEDED))
        for (int32_t a = 2; a <= spec->batch_max; a++)
            naive_passes(n, a);
    return n->best;
}

static struct perf_model random_model(struct rng *rng)
{
    struct perf_model model = {
        .source = MODEL_MEASURED,
        .n_proc = (int32_t)rng_between(rng, 1, 6),
        .comm_form = MODEL_COMM_RING,
        .comm_bytes = rng_between(rng, 0, 2) * rng_between(rng, 0, 40000000),
        .comm_bytes_per_sec = 1000000000,
    };
    int32_t at = 0;

    for (int32_t i = 0; i < model.n_proc; i++) {
        at += (int32_t)rng_between(rng, 1, 12);
        model.proc[i] = (struct proc_point){at, rng_between(rng, 1, 60) * 1000000};
    }
    return model;
}

static struct job_spec random_spec(struct rng *rng, int32_t batch_max)
{
    struct job_spec spec = {
        .name = "job",
        .level = JOB_ELASTIC,
        .sizes = {.min = (int32_t)rng_between(rng, 1, 3)},
        .accumulate = (enum job_accumulate)rng_below(rng, JOB_ACCUMULATE_MAX),
    };

    spec.sizes.max = spec.sizes.min + (int32_t)rng_between(rng, 0, 9);
    spec.sizes.step = (int32_t)rng_between(rng, 1, 3);
    spec.batch_min = (int32_t)rng_between(rng, 1, batch_max);
    spec.batch_max = (int32_t)rng_between(rng, spec.batch_min, batch_max);
    if (rng_below(rng, 4) == 0)
        spec.batch_max = spec.batch_min;
    spec.batch_base = (int32_t)rng_between(rng, spec.batch_min, spec.batch_max);
    if (rng_below(rng, 4) > 0)
        spec.gpu_batch = (int32_t)rng_between(rng, 1, 40);
    job_spec_complete(&spec);
    assert_int_equal(job_spec_check(&spec, NULL), 0);
    return spec;
}

static void assert_option_is_a_plan(const struct job_spec *spec, int32_t limit,
                                    const struct row_option *o)
{
    assert_int_equal(
        split_check(o->size, o->global_batch, o->micro_batch, o->accumulation, NULL), 0);
    assert_true(o->global_batch >= spec->batch_min);
    assert_true(o->global_batch <= spec->batch_max);
    assert_true(o->global_batch >= o->size);
    assert_true(o->micro_batch <= limit);
    assert_true(spec->accumulate != JOB_ACCUMULATE_NEVER || o->accumulation == 1);
    assert_true(o->value >= 0 && o->value <= VALUE_MAX);
}

/* Returns how far the row stays behind plain enumeration, at worst, in samples a pass. */
static double compare_with_naive(const struct job_spec *spec,
                                 const struct perf_model *model)
{
    const struct row_rule rule = {.batch = ROW_BATCH_JOINT};
    struct naive n = {.spec = spec, .model = model, .limit = spec->gpu_batch};
    double worst = 0.0;
    bool is_empty = true;
    struct row row;
    int rc;

    if (n.limit == 0)
        n.limit = (int32_t)i64_div_up(spec->batch_max, spec->sizes.min);
    row_init(&row);
    rc = row_build(&row, spec, model, &rule, NULL);
    for (int32_t k = 1; k <= spec->sizes.max; k++) {
        const struct row_option *o = row_find(&row, k);
        double best = size_set_has(&spec->sizes, k) ? naive_best(&n, k) : 0.0;
        double behind;

        assert_int_equal(o != NULL, best > 0.0);
        if (!o)
            continue;
        is_empty = false;
        assert_option_is_a_plan(spec, n.limit, o);
        assert_true(o->rate <= best * (1 + 1e-12));
        behind = (1.0 - o->rate / best) * (double)o->micro_batch;
        worst = behind > worst ? behind : worst;
    }
    assert_int_equal(rc, is_empty ? E_INFEASIBLE : 0);
    row_release(&row);
    return worst;
}

static void row_equals_plain_enumeration_on_short_ranges(void **state)
{
    struct rng rng = rng_stream(SEED, "short");

    (void)state;
    print_message("# seed %u\n", SEED);
    for (int round = 0; round < 3000; round++) {
        struct perf_model model = random_model(&rng);
        struct job_spec spec = random_spec(&rng, round % 2 ? 16 : 64);
        double behind;

        if (round % 2 == 0)
            spec.accumulate = JOB_ACCUMULATE_NEVER;
        behind = compare_with_naive(&spec, &model);
        if (behind > 1e-7)
            fail_msg("round %d: %g samples a pass behind", round, behind);
    }
}

static void row_stays_within_a_sample_a_pass_on_longer_ranges(void **state)
{
    struct rng rng = rng_stream(SEED, "longer");

    (void)state;
    print_message("# seed %u\n", SEED);
    for (int round = 0; round < 400; round++) {
        struct perf_model model = random_model(&rng);
        struct job_spec spec = random_spec(&rng, 300);
        double behind = compare_with_naive(&spec, &model);

        if (behind > 1.0)
            fail_msg("round %d: %g samples a pass behind", round, behind);
    }
}

static void row_of_the_largest_range_is_built_without_enumeration(void **state)
{
    const struct row_rule rule = {.batch = ROW_BATCH_JOINT, .devices_per_node = 8};
    struct shape s = {10000, 10, 25000000, BATCH_MAX, 1, BATCH_MAX};
    struct perf_model model = model_of(&s, 1000, 1000000000);
    struct job_spec spec = spec_of(&s, 1024);
    struct row row;

    (void)state;
    spec.accumulate = JOB_ACCUMULATE_FREE;
    row_init(&row);
    assert_int_equal(row_build(&row, &spec, &model, &rule, NULL), 0);
    assert_int_equal(row.n_options, 1024);
    assert_int_equal(row_find(&row, 1024)->global_batch, BATCH_MAX);
    row_release(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_has_the_golden_values_of_the_paper),
        cmocka_unit_test(row_without_256_has_the_equal_split_of_the_paper),
        cmocka_unit_test(row_has_the_reference_values_of_the_four_classes),
        cmocka_unit_test(row_of_a_fixed_batch_follows_the_baselines),
        cmocka_unit_test(row_of_a_fixed_batch_ends_where_devices_outnumber_samples),
        cmocka_unit_test(row_accumulates_only_where_needed),
        cmocka_unit_test(row_breaks_ties_by_the_batch_in_force_then_the_smaller),
        cmocka_unit_test(row_keeps_a_base_batch_in_force_that_no_size_divides),
        cmocka_unit_test(row_takes_many_passes_where_small_ones_are_much_faster),
        cmocka_unit_test(row_of_a_job_without_batch_has_every_size),
        cmocka_unit_test(row_values_carry_the_weight_and_stay_in_bounds),
        cmocka_unit_test(row_ends_at_the_size_limit_but_keeps_the_smallest),
        cmocka_unit_test(row_counts_nodes),
        cmocka_unit_test(row_without_any_plan_says_what_would_be_accepted),
        cmocka_unit_test(row_of_255_samples_has_two_devices_at_least),
        cmocka_unit_test(row_survives_failing_allocations),
        cmocka_unit_test(row_equals_plain_enumeration_on_short_ranges),
        cmocka_unit_test(row_stays_within_a_sample_a_pass_on_longer_ranges),
        cmocka_unit_test(row_of_the_largest_range_is_built_without_enumeration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
