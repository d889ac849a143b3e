/* SPDX-License-Identifier: Apache-2.0 */
#include "core/scaler.h"

#include "support/rig.h"

#include "core/explain.h"

/* 10 ms + 2 ms a sample: a job at 64 per gpu scales linearly as long as its range lasts.
 */
static const struct perf_model linear_model = {
    .source = MODEL_STATED,
    .n_proc = 2,
    .proc = {{1, 12000000}, {64, 138000000}},
};

static struct job_spec elastic(const char *name, int64_t samples)
{
    struct job_spec spec = rig_spec(name, 1, 4);

    spec.level = JOB_ELASTIC;
    spec.batch_min = 64;
    spec.batch_max = 256;
    spec.gpu_batch = 64;
    spec.samples_total = samples;
    return spec;
}

static int submit(struct rig *r, struct job_spec spec)
{
    int id = (int)core_globals(r->core)->next_job;
    struct event event = {.kind = EVENT_SUBMIT, .spec = &spec, .model = &linear_model};

    assert_int_equal(rig_event(r, event), 0);
    return id;
}

static void wake_and_plan(struct rig *r)
{
    r->now_us = core_next_wake(r->core);
    assert_true(r->now_us != USEC_NEVER);
    assert_int_equal(rig_event(r, (struct event){.kind = EVENT_WAKE}), 0);
    rig_plan(r);
}

static void rig_init_payback(struct rig *r)
{
    rig_init(r);
    rig_node(r, "n1", 4);
}

static void scaler_spares_a_victim_that_is_younger_than_min_run(void **state)
{
    struct rig r;
    int a, b;

    (void)state;
    rig_init_payback(&r);
    a = submit(&r, elastic("a", 100000000));
    rig_plan(&r);
    rig_start_all(&r);
    r.now_us += 10 * USEC_PER_SEC;
    b = submit(&r, elastic("b", 100000000));
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    assert_int_equal(rig_run(&r, b)->state, JOB_QUEUED);
    assert_int_equal(core_next_wake(r.core),
                     rig_run(&r, a)->since_us + 60 * USEC_PER_SEC);
    wake_and_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    assert_non_null(strstr(rig_run(&r, a)->reason, "makes room for b"));
    rig_release(&r);
}

static void scaler_lets_nothing_but_a_move_hold_back_after_admit_wait(void **state)
{
    struct event event = {.kind = EVENT_CONFIG};
    struct rig r;
    int a;

    (void)state;
    rig_init_payback(&r);
    event.config = *core_config(r.core);
    event.config.min_run_us = USEC_PER_HOUR;
    assert_int_equal(rig_event(&r, event), 0);
    a = submit(&r, elastic("a", 100000000));
    rig_plan(&r);
    rig_start_all(&r);
    submit(&r, elastic("b", 100000000));
    rig_plan(&r);
    assert_int_equal(core_next_wake(r.core), r.now_us + 120 * USEC_PER_SEC);
    wake_and_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    rig_release(&r);
}

static void scaler_waits_for_min_gap(void **state)
{
    struct rig r;
    int a, b;

    (void)state;
    rig_init_payback(&r);
    a = submit(&r, elastic("a", 100000000));
    b = submit(&r, elastic("b", 100000000));
    rig_plan(&r);
    rig_start_all(&r);
    assert_int_equal(rig_held(&r, a) + rig_held(&r, b), 4);
    r.now_us += USEC_PER_SEC;
    rig_report(&r, EVENT_EXIT, b, "n1", JOB_CAUSE_DONE);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    assert_int_equal(core_next_wake(r.core),
                     rig_run(&r, a)->moved_us + 30 * USEC_PER_SEC);
    wake_and_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    assert_int_equal(rig_run(&r, a)->next.size, 4);
    rig_release(&r);
}

static void scaler_leaves_a_job_near_its_end_alone(void **state)
{
    struct rig r;
    int a, b;

    (void)state;
    rig_init_payback(&r);
    a = submit(&r, elastic("a", 1000)); /* about a second of work */
    b = submit(&r, elastic("b", 100000000));
    rig_plan(&r);
    rig_start_all(&r);
    rig_report(&r, EVENT_EXIT, b, "n1", JOB_CAUSE_DONE);
    r.now_us += USEC_PER_HOUR;
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    assert_int_equal(rig_run(&r, a)->generation, 1);
    rig_release(&r);
}

static void scaler_counts_the_stall_against_the_gain(void **state)
{
    struct event event = {.kind = EVENT_CONFIG};
    struct rig r;
    int a, b;

    (void)state;
    rig_init_payback(&r);
    event.config = *core_config(r.core);
    event.config.stall_guess_us = 20 * USEC_PER_HOUR;
    assert_int_equal(rig_event(&r, event), 0);
    a = submit(&r, elastic("a", 464 * 3600 * 2)); /* two hours on one gpu, about */
    b = submit(&r, elastic("b", 100000000));
    rig_plan(&r);
    rig_start_all(&r);
    rig_report(&r, EVENT_EXIT, b, "n1", JOB_CAUSE_DONE);
    r.now_us += USEC_PER_HOUR;
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    event.config.stall_guess_us = USEC_PER_SEC;
    assert_int_equal(rig_event(&r, event), 0);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    rig_release(&r);
}

static void r10_wishes_that_alternate_do_not_make_jobs_dance(void **state)
{
    struct perf_model model = linear_model;
    struct event wish = {.kind = EVENT_MODEL, .model = &model};
    struct rig r;
    int a, b;

    (void)state;
    rig_init_payback(&r);
    a = submit(&r, elastic("a", 1000000000));
    b = submit(&r, elastic("b", 1000000000));
    rig_plan(&r);
    rig_start_all(&r);
    for (int i = 0; i < 600; i++) { /* every second each looks better in turn */
        r.now_us += USEC_PER_SEC;
        wish.job = (uint32_t)(i % 2 ? a : b);
        model.comm_form = MODEL_COMM_TABLE;
        model.n_comm = 1;
        model.comm[0] = (struct comm_point){2, (int64_t)(i % 4) * 100000000};
        assert_int_equal(rig_event(&r, wish), 0);
        rig_plan(&r);
        for (int id = a; id <= b; id++) {
            if (rig_duty(&r, id) == DUTY_SAVE)
                rig_report(&r, EVENT_SAVED, id, "", JOB_CAUSE_NONE);
            if (rig_duty(&r, id) == DUTY_STOP)
                rig_report(&r, EVENT_EXIT, id, "n1", JOB_CAUSE_STOPPED);
        }
        rig_start_all(&r);
    }
    assert_in_range(rig_run(&r, a)->resizes + rig_run(&r, b)->resizes, 0, 2 * 600 / 30);
    rig_release(&r);
}

static void explain_says_what_one_gpu_more_would_bring_and_who_would_lose(void **state)
{
    struct explain x;
    struct buf out;
    struct rig r;
    int a, b;

    (void)state;
    rig_init_payback(&r);
    a = submit(&r, elastic("a", 100000000));
    b = submit(&r, elastic("b", 100000000));
    rig_plan(&r);
    rig_start_all(&r);
    assert_int_equal(explain_job(r.core, (uint32_t)a, r.now_us, &x, NULL), 0);
    assert_int_equal(x.now.size, rig_held(&r, a));
    assert_int_equal(x.more.size, x.now.size + 1);
    assert_in_range(x.more.value - x.now.value, 999990, 1000010);
    assert_int_equal(x.loser.job, rig_held(&r, b) > 1 ? b : 0);
    assert_true(x.is_certified);
    buf_init(&out, 4096);
    explain_print(&x, &out);
    assert_int_equal(buf_error(&out), 0);
    assert_non_null(strstr(out.text, "job 1 (a) is running on"));
    assert_non_null(strstr(out.text, "with more"));
    buf_release(&out);
    assert_int_equal(explain_job(r.core, 99, r.now_us, &x, NULL), E_NOTFOUND);
    rig_release(&r);
}

static void explain_estimates_how_long_a_job_waits(void **state)
{
    struct job_spec big = rig_spec("big", 4, 4);
    struct explain x;
    struct rig r;
    int a, b;

    (void)state;
    rig_init_payback(&r);
    a = submit(&r, elastic("a", 463768)); /* 1000 s on one gpu, 250 s on four */
    rig_plan(&r);
    rig_start_all(&r);
    assert_int_equal(rig_held(&r, a), 4);
    b = rig_submit(&r, big);
    rig_plan(&r);
    assert_int_equal(explain_job(r.core, (uint32_t)b, r.now_us, &x, NULL), 0);
    assert_int_equal(x.least.size, 4);
    assert_int_equal(x.free_now, 0);
    assert_in_range(x.wait_us, 240 * USEC_PER_SEC, 260 * USEC_PER_SEC);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scaler_spares_a_victim_that_is_younger_than_min_run),
        cmocka_unit_test(scaler_lets_nothing_but_a_move_hold_back_after_admit_wait),
        cmocka_unit_test(scaler_waits_for_min_gap),
        cmocka_unit_test(scaler_leaves_a_job_near_its_end_alone),
        cmocka_unit_test(scaler_counts_the_stall_against_the_gain),
        cmocka_unit_test(r10_wishes_that_alternate_do_not_make_jobs_dance),
        cmocka_unit_test(explain_says_what_one_gpu_more_would_bring_and_who_would_lose),
        cmocka_unit_test(explain_estimates_how_long_a_job_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
