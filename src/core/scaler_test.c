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

/* The text that a person gets. */
static void assert_explains(const struct rig *r, int id, const char *part, bool is_there)
{
    struct explain x;
    struct buf out;

    assert_int_equal(explain_job(r->core, (uint32_t)id, r->now_us, &x, NULL), 0);
    buf_init(&out, 4096);
    explain_print(&x, &out);
    assert_int_equal(buf_error(&out), 0);
    if ((strstr(out.text, part) != NULL) != is_there)
        fail_msg("'%s' is %s:\n%s", part, is_there ? "missing" : "there", out.text);
    buf_release(&out);
}

static void explain_names_the_job_that_is_spared_and_for_how_long(void **state)
{
    struct rig r;
    int a, b, c;

    (void)state;
    rig_init_payback(&r);
    a = submit(&r, elastic("a", 100000000));
    rig_plan(&r);
    rig_start_all(&r);
    r.now_us += 10 * USEC_PER_SEC;
    b = submit(&r, elastic("b", 100000000));
    c = submit(&r, elastic("c", 100000000));
    rig_plan(&r);
    assert_int_equal(rig_run(&r, b)->state, JOB_QUEUED);
    assert_explains(&r, b, "a: held back: started only a short while ago", true);
    assert_explains(&r, b, "in 50s at the latest", true);
    assert_explains(&r, b, "stands before it", false);
    assert_explains(&r, b, "when that job may be moved", true);
    assert_explains(&r, c, "1 job stands before it", true);
    assert_explains(&r, a, "held back: started only a short while ago", true);
    assert_explains(&r, a, "in 50s at the latest", true);
    rig_release(&r);
}

static void explain_is_honest_about_jobs_that_no_plan_concerns(void **state)
{
    struct event lost = {.kind = EVENT_NODE_LOST, .node = {.name = "n1"}};
    struct job_spec flaky = rig_spec("flaky", 1, 1);
    struct event pause = {.kind = EVENT_PAUSE};
    struct rig r;
    int a, b, c;

    (void)state;
    rig_init_payback(&r);
    flaky.retries = 1;
    a = rig_submit(&r, flaky);
    rig_plan(&r);
    rig_start_all(&r);
    rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_USER_ERROR);
    assert_explains(&r, a, "not before its next attempt, in 10s", true);
    b = submit(&r, elastic("b", 1000));
    pause.job = (uint32_t)b;
    assert_int_equal(rig_event(&r, pause), 0);
    assert_explains(&r, b, "is paused", true);
    assert_explains(&r, b, "proven best", false);
    c = rig_submit(&r, rig_spec("c", 3, 4));
    assert_int_equal(rig_event(&r, lost), 0);
    rig_node(&r, "n2", 2);
    rig_plan(&r);
    assert_explains(&r, c, "not before 1 more gpu is up", true);
    rig_release(&r);
}

/* A batch that gains nothing is not changed, though other jobs move at the same time. */
static void scaler_judges_a_change_of_the_batch_by_itself(void **state)
{
    struct job_run run = {.moved_us = 0};
    struct job_spec spec = {.samples_total = 0};
    struct job job = {.spec = spec, .run = run, .model = {.source = MODEL_STATED}};
    struct config config;
    struct globals globals = {0};
    struct plan_item items[3] = {
        {.now = {.size = 2, .value = 2000000}, .target = {.size = 1, .value = 1900000}},
        {.now = {.size = 1, .value = 1000000}, .target = {.size = 2, .value = 3000000}},
        {.now = {.size = 2, .global_batch = 64, .value = 1000000},
         .target = {.size = 2, .global_batch = 128, .value = 1000000}},
    };
    struct plan_item *list[3];
    struct scaler_view view = {.config = &config,
                               .globals = &globals,
                               .now_us = USEC_PER_HOUR,
                               .items = list,
                               .n_items = 3,
                               .moves = list,
                               .n_moves = 3};

    (void)state;
    config_defaults(&config);
    for (int i = 0; i < 3; i++) {
        items[i].job = &job;
        items[i].act = PLAN_RESIZE;
        list[i] = &items[i];
    }
    assert_int_equal(scaler_review(&view), 1);
    assert_false(items[0].is_held_back);
    assert_false(items[1].is_held_back);
    assert_true(items[2].is_held_back);
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
        cmocka_unit_test(explain_names_the_job_that_is_spared_and_for_how_long),
        cmocka_unit_test(explain_is_honest_about_jobs_that_no_plan_concerns),
        cmocka_unit_test(scaler_judges_a_change_of_the_batch_by_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
