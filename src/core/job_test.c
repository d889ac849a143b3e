/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"

static struct job_spec good_spec(void)
{
    struct job_spec spec = {
        .name = "mlp",
        .level = JOB_ELASTIC,
        .sizes = {.min = 1, .max = 4},
        .batch_min = 128,
        .batch_max = 1024,
    };

    job_spec_complete(&spec);
    return spec;
}

static void job_state_table_is_the_one_of_the_design(void **state)
{
    static const char *const expected[JOB_STATE_MAX] = {
        [JOB_QUEUED] = "starting paused cancelled dropped ",
        [JOB_STARTING] = "running stopping ",
        [JOB_RUNNING] = "resizing stopping ",
        [JOB_RESIZING] = "running stopping ",
        [JOB_STOPPING] = "queued paused done failed cancelled ",
        [JOB_PAUSED] = "queued cancelled ",
        [JOB_DONE] = "",
        [JOB_FAILED] = "",
        [JOB_CANCELLED] = "",
        [JOB_DROPPED] = "",
    };
    struct buf seen;

    (void)state;
    buf_init(&seen, 200);
    for (unsigned from = 0; from < JOB_STATE_MAX; from++) {
        buf_clear(&seen);
        for (unsigned to = 0; to < JOB_STATE_MAX; to++)
            if (job_state_may_follow((enum job_state)from, (enum job_state)to))
                buf_printf(&seen, "%s ", job_state_name((enum job_state)to));
        assert_string_equal(seen.text, expected[from]);
        assert_int_equal(job_state_is_final((enum job_state)from), seen.len == 0);
    }
    buf_release(&seen);
}

static void job_move_accounts_time_and_clears_the_phase(void **state)
{
    struct job_run run = {
        .state = JOB_STARTING, .goal = JOB_STARTING, .plan = {.size = 2}};

    (void)state;
    job_move(&run, JOB_RUNNING, JOB_RUNNING, 10, "up");
    assert_int_equal(run.start_us, 10);
    assert_int_equal(run.device_us, 20);
    assert_int_equal(run.active_us, 0);
    job_move(&run, JOB_RESIZING, JOB_RESIZING, 30, "2 to %d", 4);
    assert_string_equal(run.reason, "2 to 4");
    assert_int_equal(run.active_us, 20);
    run.next.size = 4;
    job_set_phase(&run, JOB_PHASE_SAVE);
    job_move(&run, JOB_RUNNING, JOB_RUNNING, 40, "save failed");
    assert_int_equal(run.phase, JOB_PHASE_NONE);
    assert_int_equal(run.next.size, 0);
    assert_int_equal(run.device_us, 20 + 40 + 40);
    assert_int_equal(run.start_us, 10);
}

static void size_set_knows_gaps_and_steps(void **state)
{
    const struct size_set range = {.min = 2, .max = 9, .step = 3};
    const struct size_set list = {.min = 1, .max = 8, .n_listed = 3, .listed = {1, 4, 8}};

    (void)state;
    assert_true(size_set_has(&range, 5));
    assert_false(size_set_has(&range, 6));
    assert_false(size_set_has(&range, 9));
    assert_int_equal(size_set_next(&range, 0), 2);
    assert_int_equal(size_set_next(&range, 6), 8);
    assert_int_equal(size_set_next(&range, 9), 0);
    assert_int_equal(size_set_last(&range, 7), 5);
    assert_int_equal(size_set_last(&range, 100), 8);
    assert_int_equal(size_set_last(&range, 1), 0);
    assert_int_equal(size_set_next(&list, 5), 8);
    assert_int_equal(size_set_last(&list, 7), 4);
    assert_int_equal(size_set_last(&list, 0), 0);
    assert_false(size_set_has(&list, 0));
}

static void assert_refused(const struct job_spec *spec, const char *field)
{
    struct err err = {0};

    assert_true(job_spec_check(spec, &err) < 0);
    assert_string_equal(err.field, field);
    assert_true(strlen(err.text) > 0);
}

static void job_spec_check_names_the_field(void **state)
{
    struct job_spec spec = good_spec();
    struct job_spec bad;

    (void)state;
    assert_int_equal(job_spec_check(&spec, NULL), 0);
    bad = spec, bad.name[0] = '\0';
    assert_refused(&bad, "name");
    bad = spec, memset(bad.name, 'x', sizeof bad.name);
    assert_refused(&bad, "name");
    bad = spec, bad.family[0] = '\n';
    assert_refused(&bad, "family");
    bad = spec, bad.sizes.min = 0;
    assert_refused(&bad, "gpus");
    bad = spec, bad.sizes.max = SIZE_MAX_DEVICES + 1;
    assert_refused(&bad, "gpus");
    bad = spec, bad.sizes.n_listed = 2, bad.sizes.listed[0] = 4, bad.sizes.listed[1] = 4;
    assert_refused(&bad, "gpus");
    bad = spec, bad.batch_max = 100;
    assert_refused(&bad, "batch");
    bad = spec, bad.batch_base = 2000;
    assert_refused(&bad, "base-batch");
    bad = spec, bad.level = JOB_RIGID;
    assert_refused(&bad, "gpus");
    bad = spec, bad.level = JOB_RIGID, bad.sizes.max = 1;
    assert_refused(&bad, "batch");
    bad = spec, bad.level = JOB_LEVEL_MAX;
    assert_refused(&bad, "level");
    bad = spec, bad.grace_us = -1;
    assert_refused(&bad, "grace");
    bad = spec, bad.retries = RETRIES_MAX + 1;
    assert_refused(&bad, "retries");
    bad = spec, bad.batch_min = bad.batch_max = bad.batch_base = 0, bad.gpu_batch = 8;
    assert_refused(&bad, "gpu-batch");
}

static void job_spec_copy_owns_its_launch_text(void **state)
{
    struct job_spec spec = good_spec();
    struct job_spec copy;

    (void)state;
    spec.launch = mem_text("{}");
    assert_non_null(spec.launch);
    assert_int_equal(job_spec_copy(&copy, &spec), 0);
    assert_ptr_not_equal(copy.launch, spec.launch);
    assert_string_equal(copy.launch, "{}");
    job_spec_release(&copy);
    job_spec_release(&spec);
    assert_null(spec.launch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_state_table_is_the_one_of_the_design),
        cmocka_unit_test(job_move_accounts_time_and_clears_the_phase),
        cmocka_unit_test(size_set_knows_gaps_and_steps),
        cmocka_unit_test(job_spec_check_names_the_field),
        cmocka_unit_test(job_spec_copy_owns_its_launch_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
