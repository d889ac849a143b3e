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

/* A view of moves made by hand, an hour after the start and with an event a minute. */
struct moves {
    struct job job;
    struct config config;
    struct globals globals;
    struct plan_item items[4];
    struct plan_item *list[4];
    struct scaler_view view;
};

static void moves_init(struct moves *m)
{
    *m = (struct moves){.job = {.model = {.source = MODEL_STATED}},
                        .globals = {.arrivals = 40, .departures = 20}};
    config_defaults(&m->config);
    m->view = (struct scaler_view){.config = &m->config,
                                   .globals = &m->globals,
                                   .now_us = USEC_PER_HOUR,
                                   .items = m->list,
                                   .moves = m->list};
}

static struct plan_item *moves_add(struct moves *m, enum plan_act act, int32_t from,
                                   int32_t to, int64_t before, int64_t after)
{
    struct plan_item *item = &m->items[m->view.n_items];

    *item = (struct plan_item){.job = &m->job,
                               .act = act,
                               .now = {.size = from, .value = before * 1000000},
                               .target = {.size = to, .value = after * 1000000}};
    m->list[m->view.n_items++] = item;
    m->view.n_moves++;
    return item;
}

/* A batch that gains nothing is not changed, though other jobs move at the same time. */
static void scaler_judges_a_change_of_the_batch_by_itself(void **state)
{
    struct moves m;
    struct plan_item *batch;

    (void)state;
    moves_init(&m);
    moves_add(&m, PLAN_RESIZE, 2, 1, 3, 2);
    moves_add(&m, PLAN_RESIZE, 1, 2, 1, 3);
    batch = moves_add(&m, PLAN_RESIZE, 2, 2, 1, 1);
    assert_int_equal(scaler_review(&m.view), 1);
    assert_true(batch->is_held_back);
}

static void scaler_holds_back_a_group_that_loses_more_than_it_gains(void **state)
{
    struct plan_item *shrink, *growth;
    struct moves m;

    (void)state;
    moves_init(&m); /* 60 s of +1 against a stall of 5 s for (10 + 2) */
    shrink = moves_add(&m, PLAN_RESIZE, 2, 1, 10, 9);
    growth = moves_add(&m, PLAN_RESIZE, 1, 2, 2, 4);
    assert_int_equal(scaler_review(&m.view), 1);
    assert_true(shrink->is_held_back);
    assert_false(growth->is_held_back);
    moves_init(&m);
    shrink = moves_add(&m, PLAN_RESIZE, 2, 1, 9, 8);
    moves_add(&m, PLAN_RESIZE, 1, 2, 2, 4);
    assert_int_equal(scaler_review(&m.view), 0);
    assert_int_equal((int)(scaler_gain(&m.view) + 0.5), 60 - 55);
}

/* While a job stands still it loses the speed that it has, not the one it will have. */
static void scaler_counts_a_stall_at_the_old_speed(void **state)
{
    struct moves m;

    (void)state;
    moves_init(&m);
    m.config.stall_guess_us = 100 * USEC_PER_SEC;
    moves_add(&m, PLAN_RESIZE, 1, 2, 1, 3); /* 60 * 2 against 100 * 1 */
    assert_int_equal(scaler_review(&m.view), 0);
    m.config.stall_guess_us = 121 * USEC_PER_SEC;
    assert_int_equal(scaler_review(&m.view), 1);
}

/* What a start loses before its steps count is a part of what a move costs. */
static void scaler_refuses_a_move_that_only_pays_without_its_warm_up(void **state)
{
    struct plan_item *growth;
    struct moves m;

    (void)state;
    moves_init(&m);
    m.config.stall_guess_us = 100 * USEC_PER_SEC;
    growth = moves_add(&m, PLAN_RESIZE, 1, 2, 1, 3); /* 60 * 2 against 100 * 1 */
    assert_int_equal(scaler_review(&m.view), 0);
    m.job.run.warm_up_us = 30 * USEC_PER_SEC; /* 130 * 1 */
    assert_int_equal(scaler_review(&m.view), 1);
    assert_true(growth->is_held_back);
}

/* What is on its way back serves the newcomer; a shrink beside it must pay for itself. */
static void scaler_calls_nothing_an_admission_that_is_not_needed_for_one(void **state)
{
    struct plan_item *shrink;
    struct moves m;

    (void)state;
    moves_init(&m);
    shrink = moves_add(&m, PLAN_RESIZE, 2, 1, 2, 1);
    moves_add(&m, PLAN_START, 0, 2, 0, 2);
    m.view.releasing = 1;
    m.view.free = 1;
    assert_int_equal(scaler_review(&m.view), 1);
    assert_false(shrink->is_for_admission);
    assert_true(shrink->is_held_back);
    moves_init(&m);
    shrink = moves_add(&m, PLAN_RESIZE, 2, 1, 2, 1);
    moves_add(&m, PLAN_START, 0, 2, 0, 2);
    m.view.free = 1;
    assert_int_equal(scaler_review(&m.view), 0);
    assert_true(shrink->is_for_admission);
}

static void scaler_lets_a_trial_end_both_ways(void **state)
{
    struct plan_item *shrink;
    struct moves m;

    (void)state;
    moves_init(&m);
    shrink = moves_add(&m, PLAN_RESIZE, 2, 1, 2, 1);
    moves_add(&m, PLAN_RESIZE, 1, 2, 1, 3);
    assert_int_equal(scaler_try_without_shrinks(&m.view), 1);
    assert_true(shrink->is_held_back);
    scaler_end_trial(&m.view, false);
    assert_false(shrink->is_held_back);
    shrink->act = PLAN_RESIZE;
    assert_int_equal(scaler_try_without_shrinks(&m.view), 1);
    scaler_end_trial(&m.view, true);
    assert_true(shrink->is_held_back);
}

static void scaler_spares_a_victim_that_ends_by_itself(void **state)
{
    struct rig r;
    int a, b;

    (void)state;
    rig_init_payback(&r);
    a = submit(&r, elastic("a", 464 * 4 * 4)); /* four seconds on four gpus */
    rig_plan(&r);
    rig_start_all(&r);
    r.now_us += 2 * USEC_PER_MIN;
    b = submit(&r, elastic("b", 100000000));
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    assert_explains(&r, b, "a: held back: ends by itself soon", true);
    wake_and_plan(&r); /* it did not end: b has waited long enough */
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    rig_release(&r);
}

/* A job that goes on with a batch worse than the best gains by a change of it alone. */
static void scaler_moves_a_job_to_a_better_batch_of_its_size(void **state)
{
    struct event event = {.kind = EVENT_CONFIG};
    struct job_spec spec = elastic("a", 100000000);
    struct rig r;
    int a;

    (void)state;
    rig_init_payback(&r);
    event.config = *core_config(r.core);
    (void)snprintf(event.config.policy, sizeof event.config.policy, "fixed-min");
    assert_int_equal(rig_event(&r, event), 0);
    spec.sizes.min = spec.sizes.max = 4;
    a = submit(&r, spec);
    rig_plan(&r);
    rig_start_all(&r);
    assert_int_equal(rig_run(&r, a)->plan.global_batch, 64);
    r.now_us += USEC_PER_HOUR;
    (void)snprintf(event.config.policy, sizeof event.config.policy, "joint");
    assert_int_equal(rig_event(&r, event), 0);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    assert_int_equal(rig_run(&r, a)->next.size, 4);
    assert_int_equal(rig_run(&r, a)->next.global_batch, 256);
    assert_string_equal(rig_run(&r, a)->reason, "a better batch for its size");
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
        cmocka_unit_test(explain_names_the_job_that_is_spared_and_for_how_long),
        cmocka_unit_test(explain_is_honest_about_jobs_that_no_plan_concerns),
        cmocka_unit_test(scaler_judges_a_change_of_the_batch_by_itself),
        cmocka_unit_test(scaler_holds_back_a_group_that_loses_more_than_it_gains),
        cmocka_unit_test(scaler_counts_a_stall_at_the_old_speed),
        cmocka_unit_test(scaler_refuses_a_move_that_only_pays_without_its_warm_up),
        cmocka_unit_test(scaler_calls_nothing_an_admission_that_is_not_needed_for_one),
        cmocka_unit_test(scaler_lets_a_trial_end_both_ways),
        cmocka_unit_test(scaler_spares_a_victim_that_ends_by_itself),
        cmocka_unit_test(scaler_moves_a_job_to_a_better_batch_of_its_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
