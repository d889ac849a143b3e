/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/dryrun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support/mem_fault.h"

static struct job_spec make(void)
{
    struct job_spec spec = {
        .name = "mlp",
        .level = JOB_ELASTIC,
        .sizes = {.min = 1, .max = 3},
        .batch_min = 256,
        .batch_max = 256,
        .gpu_batch = 128,
        .accumulate = JOB_ACCUMULATE_NEVER,
        .lr_rule = JOB_LR_LINEAR,
    };

    job_spec_complete(&spec);
    return spec;
}

static void dryrun_tells_for_every_size_plan_or_reason(void **state)
{
    struct job_spec spec = make();
    struct dryrun d;

    (void)state;
    spec.batch_base = 128;
    spec.batch_min = 128;
    spec.weight_ppm = 5 * PPM;
    assert_int_equal(dryrun_build(&spec, NULL, &d), 0);
    assert_int_equal(d.n, 3);
    assert_int_equal(d.source, MODEL_PRIOR);
    assert_int_equal(d.lines[0].speed_ppm, PPM);
    dryrun_release(&d);

    spec.batch_min = 256;
    assert_int_equal(dryrun_build(&spec, NULL, &d), 0);
    assert_int_equal(d.n_feasible, 2);
    assert_false(d.lines[0].is_feasible);
    assert_string_equal(d.lines[0].why.field, "batch");
    assert_true(strlen(d.lines[0].why.text) > 0);
    assert_int_equal(d.lines[1].micro_batch, 128);
    assert_int_equal(d.lines[1].accumulation, 1);
    assert_int_equal(d.lines[1].ranks_more, 0);
    assert_int_equal(d.lines[1].lr_ppm, 2 * PPM);
    assert_int_equal(d.lines[1].rate_milli, 0);
    assert_int_equal(d.lines[2].ranks_more, 1);
    dryrun_release(&d);
}

static void dryrun_tells_what_waits_for_a_measurement(void **state)
{
    const struct perf_model stated = {
        .source = MODEL_STATED, .n_proc = 1, .proc = {{64, 1000000}}};
    struct job_spec spec = make();
    struct dryrun d;
    struct buf out;

    (void)state;
    spec.batch_min = 64;
    spec.batch_base = 128;
    spec.gpu_batch = 0;
    assert_int_equal(dryrun_build(&spec, NULL, &d), 0);
    assert_int_equal(d.batch_growth, DRYRUN_ONCE_MEASURED);
    assert_int_equal(d.size_growth, DRYRUN_ONCE_MEASURED);
    for (size_t i = 0; i < d.n; i++)
        assert_int_equal(d.lines[i].global_batch, 128); /* not the smallest, 64 */
    buf_init(&out, 65536);
    assert_int_equal(dryrun_encode(&d, &out, NULL), 0);
    assert_non_null(strstr(out.text, "{\"batch_growth\":\"once-measured\","
                                     "\"feasible\":[1,2,3],\"model\":\"prior\","
                                     "\"size_growth\":\"once-measured\",\"sizes\":["));
    buf_release(&out);
    dryrun_release(&d);

    spec.profile = JOB_PROFILE_OFF; /* nothing will ever be measured */
    assert_int_equal(dryrun_build(&spec, NULL, &d), 0);
    assert_int_equal(d.batch_growth, DRYRUN_NEVER);
    assert_int_equal(d.size_growth, DRYRUN_AT_ONCE);
    dryrun_release(&d);

    spec.level = JOB_RESTARTABLE;
    assert_int_equal(dryrun_build(&spec, &stated, &d), 0);
    assert_int_equal(d.batch_growth, DRYRUN_AT_ONCE);
    assert_int_equal(d.size_growth, DRYRUN_AT_ONCE);
    dryrun_release(&d);

    spec.batch_min = spec.batch_max = spec.batch_base;
    spec.sizes.max = 1;
    assert_int_equal(dryrun_build(&spec, NULL, &d), 0);
    assert_int_equal(d.batch_growth, DRYRUN_NEVER);
    assert_int_equal(d.size_growth, DRYRUN_NEVER);
    dryrun_release(&d);
}

static void dryrun_of_nothing_feasible_says_why(void **state)
{
    struct job_spec spec = make();
    struct dryrun d;

    (void)state;
    spec.gpu_batch = 16;
    assert_int_equal(dryrun_build(&spec, NULL, &d), 0);
    assert_int_equal(d.n_feasible, 0);
    assert_int_equal(d.why.code, E_INFEASIBLE);
    assert_true(strlen(d.why.text) > 0);
    dryrun_release(&d);
}

static void dryrun_learning_rate_follows_the_square_root(void **state)
{
    struct job_spec spec = make();
    struct dryrun d;

    (void)state;
    spec.batch_base = 128;
    spec.lr_rule = JOB_LR_SQRT;
    assert_int_equal(dryrun_build(&spec, NULL, &d), 0);
    assert_int_equal(d.lines[1].lr_ppm, 1414214);
    dryrun_release(&d);
}

static void dryrun_is_written_as_json(void **state)
{
    const struct perf_model model = {
        .source = MODEL_STATED, .n_proc = 1, .proc = {{128, 100000000}}};
    struct job_spec spec = make();
    struct dryrun d;
    struct buf out;

    (void)state;
    spec.sizes = (struct size_set){.min = 1, .max = 2, .step = 1};
    spec.batch_base = 256;
    assert_int_equal(dryrun_build(&spec, &model, &d), 0);
    buf_init(&out, 4096);
    assert_int_equal(dryrun_encode(&d, &out, NULL), 0);
    assert_true(strstr(out.text, "{\"batch_growth\":\"never\",\"feasible\":[2],"
                                 "\"model\":\"stated\",\"size_growth\":\"at-once\","
                                 "\"sizes\":[{\"field\":\"batch\","
                                 "\"is_feasible\":false,\"reason\":\"") == out.text);
    assert_non_null(strstr(out.text, "\"global_batch\":256,\"is_feasible\":true,"
                                     "\"lr_ppm\":1000000,\"micro_batch\":128,"
                                     "\"rate_milli\":2560000,\"size\":2,"));
    assert_non_null(strstr(out.text, "\"split\":[{\"ranks\":2,\"samples\":128}]}]}\n"));
    buf_release(&out);
    dryrun_release(&d);
}

static void dryrun_survives_every_failed_allocation(void **state)
{
    struct job_spec spec = make();

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct dryrun d = {0};
        int rc;

        mem_fault_arm(nth);
        rc = dryrun_build(&spec, NULL, &d);
        dryrun_release(&d);
        if (!mem_fault_disarm())
            break;
        assert_int_equal(rc, E_NOMEM);
    }
    assert_int_equal(mem_fault_blocks(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dryrun_tells_for_every_size_plan_or_reason),
        cmocka_unit_test(dryrun_tells_what_waits_for_a_measurement),
        cmocka_unit_test(dryrun_of_nothing_feasible_says_why),
        cmocka_unit_test(dryrun_learning_rate_follows_the_square_root),
        cmocka_unit_test(dryrun_is_written_as_json),
        cmocka_unit_test(dryrun_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
