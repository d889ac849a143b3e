/* SPDX-License-Identifier: Apache-2.0 */
#include "core/decide.h"

#include "core/explain.h"
#include "support/rig.h"

static int report(struct rig *r, int id, enum event_kind kind, const char *node,
                  enum job_cause cause, int64_t samples)
{
    struct event event = {.kind = kind,
                          .job = (uint32_t)id,
                          .incarnation = rig_run(r, id)->incarnation,
                          .cause = cause,
                          .samples = samples};

    (void)snprintf(event.node.name, sizeof event.node.name, "%s", node);
    return rig_event(r, event);
}

static void rig_init_pairs(struct rig *r)
{
    rig_init(r);
    rig_node(r, "n1", 2);
    rig_node(r, "n2", 2);
    rig_set_scaler_none(r);
}

/* Gives the job other sizes and plans. */
static void resize(struct rig *r, int id, struct job_spec spec, int32_t size)
{
    struct event update = {.kind = EVENT_UPDATE, .job = (uint32_t)id, .spec = &spec};

    spec.sizes.min = spec.sizes.max = size;
    assert_int_equal(rig_event(r, update), 0);
    rig_plan(r);
    assert_int_equal(rig_run(r, id)->state, JOB_RESIZING);
    assert_int_equal(rig_run(r, id)->next.size, size);
}

static struct job_spec pair_spec(enum job_level level)
{
    struct job_spec spec = rig_spec("a", 2, 2);

    spec.level = level;
    return spec;
}

static void a_resize_whose_next_devices_were_lost_goes_back_to_the_queue(void **state)
{
    struct rig r;
    int a;

    (void)state;
    rig_init_pairs(&r);
    a = rig_start_one(&r, pair_spec(JOB_RESTARTABLE));
    resize(&r, a, pair_spec(JOB_RESTARTABLE), 3);
    assert_int_equal(rig_run(&r, a)->phase, JOB_PHASE_EXIT);
    rig_lose(&r, "n2"); /* one of the three */
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    report(&r, a, EVENT_EXIT, "n1", JOB_CAUSE_STOPPED, 10);
    assert_int_equal(rig_run(&r, a)->state, JOB_QUEUED);
    assert_non_null(strstr(rig_run(&r, a)->reason, "devices of its next size were lost"));
    assert_int_equal(rig_held(&r, a), 0);
    rig_release(&r);
}

static void a_save_is_called_off_when_a_device_of_the_next_size_is_lost(void **state)
{
    struct rig r;
    int a;

    (void)state;
    rig_init_pairs(&r);
    a = rig_start_one(&r, pair_spec(JOB_ELASTIC));
    resize(&r, a, pair_spec(JOB_ELASTIC), 3);
    assert_int_equal(rig_run(&r, a)->phase, JOB_PHASE_SAVE);
    rig_lose(&r, "n2");
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    assert_int_equal(rig_run(&r, a)->plan.size, 2);
    assert_int_equal(rig_held(&r, a), 2);
    assert_non_null(strstr(rig_run(&r, a)->reason, "called off: node n2 was lost"));
    rig_release(&r);
}

static void an_exit_of_a_lost_node_that_comes_late_changes_nothing(void **state)
{
    struct job_spec spec = rig_spec("a", 1, 4);
    struct rig r;
    int a;

    (void)state;
    rig_init_pairs(&r);
    a = rig_start_one(&r, spec);
    assert_int_equal(rig_held(&r, a), 4);
    rig_lose(&r, "n2");
    assert_true(rig_run(&r, a)->is_broken);
    report(&r, a, EVENT_EXIT, "n2", JOB_CAUSE_USER_ERROR, -1);
    assert_int_equal(r.changes.n, 0);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    rig_release(&r);
}

static void a_crash_while_saving_is_a_crash_and_no_resize(void **state)
{
    struct rig r;
    int a;

    (void)state;
    rig_init_pairs(&r);
    a = rig_start_one(&r, pair_spec(JOB_ELASTIC));
    resize(&r, a, pair_spec(JOB_ELASTIC), 1);
    assert_int_equal(rig_run(&r, a)->phase, JOB_PHASE_SAVE);
    report(&r, a, EVENT_EXIT, "n1", JOB_CAUSE_USER_ERROR, -1);
    assert_null(rig_run(&r, a)); /* it has no retries */
    a = rig_start_one(&r, pair_spec(JOB_ELASTIC));
    resize(&r, a, pair_spec(JOB_ELASTIC), 1);
    report(&r, a, EVENT_SAVED, "", JOB_CAUSE_NONE, 10);
    report(&r, a, EVENT_EXIT, "n1", JOB_CAUSE_KILLED, -1); /* saved: nothing is lost */
    assert_int_equal(rig_run(&r, a)->phase, JOB_PHASE_START);
    rig_release(&r);
}

static void samples_that_are_repeated_again_and_again_stay_a_number(void **state)
{
    struct event perf = {.kind = EVENT_PERF, .time_us = 0, .rate_milli = 1};
    struct rig r;
    int a;

    (void)state;
    rig_init_pairs(&r);
    a = rig_start_one(&r, pair_spec(JOB_ELASTIC));
    perf.job = (uint32_t)a;
    perf.incarnation = rig_run(&r, a)->incarnation;
    for (int i = 0; i < 4; i++) {
        perf.samples = i % 2 ? 0 : INT64_MAX;
        assert_int_equal(rig_event(&r, perf), 0);
    }
    assert_true(rig_run(&r, a)->samples_repeated == INT64_MAX);
    rig_release(&r);
}

static void r02_a_signal_that_hits_a_job_about_to_save_does_not_fail_it(void **state)
{
    struct rig r;
    int a;

    (void)state;
    rig_init_pairs(&r);
    a = rig_start_one(&r, pair_spec(JOB_ELASTIC));
    report(&r, a, EVENT_PERF, "", JOB_CAUSE_NONE, 30);
    resize(&r, a, pair_spec(JOB_ELASTIC), 1);
    assert_int_equal(rig_run(&r, a)->phase, JOB_PHASE_SAVE);
    report(&r, a, EVENT_EXIT, "n1", JOB_CAUSE_KILLED, 10);
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    assert_int_equal(rig_run(&r, a)->phase, JOB_PHASE_START);
    assert_int_equal(rig_run(&r, a)->next.size, 1);
    assert_int_equal(rig_run(&r, a)->samples_repeated, 20);
    rig_start_all(&r);
    assert_int_equal(rig_run(&r, a)->plan.size, 1);
    resize(&r, a, pair_spec(JOB_ELASTIC), 2); /* the next save is killed as well */
    report(&r, a, EVENT_EXIT, "n1", JOB_CAUSE_KILLED, 10);
    assert_null(rig_run(&r, a)); /* it has no retries */
    rig_release(&r);
}

static void the_stall_is_the_mean_of_the_newest_and_those_before(void **state)
{
    struct rig r;
    int a;

    (void)state;
    rig_init_pairs(&r);
    a = rig_start_one(&r, pair_spec(JOB_RESTARTABLE));
    for (int i = 0; i < 2; i++) {
        resize(&r, a, pair_spec(JOB_RESTARTABLE), i == 0 ? 1 : 2);
        r.now_us += (i == 0 ? 8 : 2) * USEC_PER_SEC;
        report(&r, a, EVENT_EXIT, "n1", JOB_CAUSE_STOPPED, 0);
        rig_start_all(&r);
        assert_int_equal(rig_run(&r, a)->stall_us[JOB_STALL_RESTART],
                         (i == 0 ? 8 : 5) * USEC_PER_SEC);
    }
    rig_release(&r);
}

static void the_newest_warm_up_that_was_told_stands(void **state)
{
    struct event event = {.kind = EVENT_PERF, .incarnation = 1, .samples = 10};
    struct rig r;

    (void)state;
    rig_init_pairs(&r);
    event.job = (uint32_t)rig_start_one(&r, pair_spec(JOB_RESTARTABLE));
    assert_int_equal(rig_event(&r, event), 0);
    assert_int_equal(rig_run(&r, (int)event.job)->warm_up_us, 0);
    event.warm_up_us = 30 * USEC_PER_SEC;
    assert_int_equal(rig_event(&r, event), 0);
    event.warm_up_us = 0; /* no word */
    assert_int_equal(rig_event(&r, event), 0);
    assert_int_equal(rig_run(&r, (int)event.job)->warm_up_us, 30 * USEC_PER_SEC);
    event.warm_up_us = 1;
    assert_int_equal(rig_event(&r, event), 0);
    assert_int_equal(rig_run(&r, (int)event.job)->warm_up_us, 1);
    rig_release(&r);
}

static void a_job_that_ends_before_it_could_be_stopped_is_done(void **state)
{
    struct event pause = {.kind = EVENT_PAUSE};
    struct rig r;
    int a, b;

    (void)state;
    rig_init(&r);
    rig_node(&r, "n1", 1);
    rig_node(&r, "n2", 1);
    a = rig_start_one(&r, pair_spec(JOB_RESTARTABLE));
    pause.job = (uint32_t)a;
    assert_int_equal(rig_event(&r, pause), 0);
    report(&r, a, EVENT_EXIT, "n1", JOB_CAUSE_DONE, -1);
    assert_int_equal(rig_run(&r, a)->goal, JOB_DONE);
    assert_int_equal(rig_held(&r, a), 1); /* the other node has not ended yet */
    report(&r, a, EVENT_EXIT, "n2", JOB_CAUSE_STOPPED, -1);
    assert_null(rig_run(&r, a));
    b = rig_start_one(&r, pair_spec(JOB_RESTARTABLE));
    pause.job = (uint32_t)b;
    assert_int_equal(rig_event(&r, pause), 0);
    report(&r, b, EVENT_EXIT, "n1", JOB_CAUSE_STOPPED, -1);
    report(&r, b, EVENT_EXIT, "n2", JOB_CAUSE_STOPPED, -1);
    assert_int_equal(rig_run(&r, b)->state, JOB_PAUSED);
    rig_release(&r);
}

static void a_pause_between_retries_ends_its_growth_at_the_sixth(void **state)
{
    struct job_spec spec = rig_spec("flaky", 1, 1);
    struct rig r;
    int a;

    (void)state;
    rig_init_four(&r);
    spec.retries = 8;
    a = rig_start_one(&r, spec);
    for (int i = 0; i < 8; i++) {
        report(&r, a, EVENT_EXIT, "n1", JOB_CAUSE_USER_ERROR, -1);
        assert_int_equal(rig_run(&r, a)->retry_us,
                         r.now_us + (10 << (i < 5 ? i : 5)) * USEC_PER_SEC);
        r.now_us = core_next_wake(r.core);
        assert_int_equal(rig_event(&r, (struct event){.kind = EVENT_WAKE}), 0);
        rig_plan(&r);
        rig_start_all(&r);
    }
    rig_release(&r);
}

/* A save that can never succeed must not hold the training up once a minute for ever. */
static void r16_the_rest_after_failed_saves_grows_until_one_succeeds(void **state)
{
    struct rig r;
    int a;

    (void)state;
    rig_init_pairs(&r);
    a = rig_start_one(&r, pair_spec(JOB_ELASTIC));
    resize(&r, a, pair_spec(JOB_ELASTIC), 1);
    for (int i = 0; i < 9; i++) {
        report(&r, a, EVENT_SAVE_FAILED, "", JOB_CAUSE_NONE, -1);
        assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
        assert_int_equal(rig_run(&r, a)->retry_us - r.now_us,
                         (60 << (i < 6 ? i : 6)) * USEC_PER_SEC);
        r.now_us = core_next_wake(r.core);
        assert_int_equal(rig_event(&r, (struct event){.kind = EVENT_WAKE}), 0);
        rig_plan(&r);
        assert_int_equal(rig_run(&r, a)->phase, JOB_PHASE_SAVE);
    }
    report(&r, a, EVENT_SAVED, "", JOB_CAUSE_NONE, 10);
    assert_int_equal(rig_run(&r, a)->saves_failed, 0);
    rig_release(&r);
}

static void what_was_trained_is_not_what_was_saved(void **state)
{
    struct event perf = {
        .kind = EVENT_PERF, .samples = 700, .samples_total = 9000, .rate_milli = 1000};
    struct job_spec spec = pair_spec(JOB_RESTARTABLE);
    struct rig r;
    int a;

    (void)state;
    rig_init_pairs(&r);
    spec.retries = 1;
    a = rig_start_one(&r, spec);
    perf.job = (uint32_t)a;
    perf.incarnation = rig_run(&r, a)->incarnation;
    assert_int_equal(rig_event(&r, perf), 0);
    assert_int_equal(rig_run(&r, a)->samples_done, 700);
    assert_int_equal(rig_run(&r, a)->samples_saved, 0);
    assert_int_equal(rig_run(&r, a)->samples_total, 9000);
    report(&r, a, EVENT_EXIT, "n1", JOB_CAUSE_KILLED, -1); /* no word of a checkpoint */
    assert_int_equal(rig_run(&r, a)->samples_saved, 0);
    assert_int_equal(rig_run(&r, a)->samples_repeated, 0);
    r.now_us = core_next_wake(r.core);
    assert_int_equal(rig_event(&r, (struct event){.kind = EVENT_WAKE}), 0);
    rig_plan(&r);
    rig_start_all(&r);
    perf.incarnation = rig_run(&r, a)->incarnation;
    perf.samples = 300; /* it began where its own checkpoint said */
    perf.samples_total = 0;
    assert_int_equal(rig_event(&r, perf), 0);
    assert_int_equal(rig_run(&r, a)->samples_repeated, 400);
    assert_int_equal(rig_run(&r, a)->samples_total, 9000);
    resize(&r, a, spec, 1);
    report(&r, a, EVENT_EXIT, "n1", JOB_CAUSE_STOPPED, 500);
    assert_int_equal(rig_run(&r, a)->samples_done, 500);
    assert_int_equal(rig_run(&r, a)->samples_saved, 500);
    rig_release(&r);
}

static void the_owner_knows_the_length_better_than_the_trainer(void **state)
{
    struct job_spec spec = {.samples_total = 0};
    struct job_run run = {.samples_total = 50};

    (void)state;
    assert_int_equal(job_samples_total(&spec, &run), 50);
    spec.samples_total = 80;
    assert_int_equal(job_samples_total(&spec, &run), 80);
}

/* Devices that somebody else uses. */

static void a_foreign_device_is_never_given_out_and_the_wait_says_why(void **state)
{
    struct explain x;
    struct rig r;
    int a, b;

    (void)state;
    rig_init_pairs(&r);
    rig_mark(&r, "n2", 1, DEVICE_FOREIGN, "ada, pid 4711, 10240 MiB");
    a = rig_submit(&r, rig_spec("a", 4, 4));
    b = rig_submit(&r, rig_spec("b", 1, 3));
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_QUEUED);
    assert_string_equal(rig_run(&r, a)->reason,
                        "1 gpu is in use by somebody else (ada, pid 4711, 10240 MiB)");
    assert_int_equal(rig_held(&r, b), 3);
    assert_int_equal(core_cluster(r.core)->devices[3].job, 0);
    assert_int_equal(explain_job(r.core, (uint32_t)a, r.now_us, &x, NULL), 0);
    assert_int_equal(x.withheld_now, 1);
    rig_mark(&r, "n2", 1, DEVICE_CLEAN, "");
    rig_plan(&r);
    assert_null(strstr(rig_run(&r, a)->reason, "somebody else"));
    assert_int_equal(core_cluster(r.core)->marks.n, 0);
    rig_release(&r);
}

static void a_held_device_that_turns_foreign_is_withheld_after_the_exit(void **state)
{
    struct rig r;
    int a, b;

    (void)state;
    rig_init_pairs(&r);
    a = rig_start_one(&r, rig_spec("a", 4, 4));
    rig_mark(&r, "n1", 0, DEVICE_FOREIGN, "ada");
    rig_mark(&r, "n1", 0, DEVICE_FOREIGN, "ada"); /* nothing new */
    assert_int_equal(r.changes.n, 0);
    assert_int_equal(rig_held(&r, a), 4);
    assert_int_equal(cluster_count(core_cluster(r.core)).withheld, 0);
    b = rig_submit(&r, rig_spec("b", 4, 4));
    report(&r, a, EVENT_EXIT, "n1", JOB_CAUSE_DONE, -1);
    report(&r, a, EVENT_EXIT, "n2", JOB_CAUSE_DONE, -1);
    assert_int_equal(cluster_count(core_cluster(r.core)).withheld, 1);
    assert_int_equal(cluster_count(core_cluster(r.core)).free, 3);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, b)->state, JOB_QUEUED);
    rig_release(&r);
}

static void a_resize_leaves_the_device_that_a_stranger_is_on(void **state)
{
    struct rig r;
    int a;

    (void)state;
    rig_init_pairs(&r);
    a = rig_start_one(&r, pair_spec(JOB_RESTARTABLE));
    rig_mark(&r, "n1", 0, DEVICE_STUCK, "pid 5");
    resize(&r, a, pair_spec(JOB_RESTARTABLE), 3);
    assert_int_equal(core_cluster(r.core)->devices[0].flags, HOLD_NOW);
    for (int i = 1; i < 4; i++)
        assert_true(core_cluster(r.core)->devices[i].flags & HOLD_NEXT);
    rig_release(&r);
}

static void a_job_goes_on_where_no_free_device_can_replace_a_foreign_one(void **state)
{
    struct job_spec spec = rig_spec("a", 1, 4);
    struct event update = {.kind = EVENT_UPDATE, .spec = &spec};
    struct rig r;
    int a;

    (void)state;
    rig_init_pairs(&r);
    a = rig_start_one(&r, spec);
    for (int32_t i = 0; i < 2; i++) {
        rig_mark(&r, "n1", i, DEVICE_FOREIGN, "ada");
        rig_mark(&r, "n2", i, DEVICE_FOREIGN, "ada");
    }
    update.job = (uint32_t)a;
    spec.sizes.max = 2;
    assert_int_equal(rig_event(&r, update), 0);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    assert_int_equal(rig_held(&r, a), 4);
    rig_release(&r);
}

static void a_start_on_a_device_in_use_costs_no_retry(void **state)
{
    struct rig r;
    int a;

    (void)state;
    rig_init_pairs(&r);
    a = rig_submit(&r, rig_spec("a", 2, 2));
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_STARTING);
    rig_mark(&r, "n1", 1, DEVICE_FOREIGN, "ada");
    report(&r, a, EVENT_EXIT, "n1", JOB_CAUSE_DEVICE_BUSY, -1);
    assert_int_equal(rig_run(&r, a)->state, JOB_QUEUED);
    assert_int_equal(rig_run(&r, a)->retries_left, 0);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_STARTING);
    assert_int_equal(core_cluster(r.core)->devices[1].job, 0);
    rig_release(&r);
}

/* Measured by 138 ms for 64 samples. */
static void hear_model(struct rig *r, int id)
{
    struct perf_model model = {.source = MODEL_MEASURED,
                               .largest_size = 2,
                               .n_proc = 1,
                               .proc = {{64, 138000000}}};
    struct event event = {.kind = EVENT_MODEL, .job = (uint32_t)id, .model = &model};

    assert_int_equal(rig_event(r, event), 0);
}

static const struct perf_model *model_of(const struct rig *r, int id)
{
    return &core_find_job(r->core, (uint32_t)id)->model;
}

static struct job_spec unmeasured_spec(const char *name)
{
    struct job_spec spec = rig_spec(name, 1, 2);

    spec.level = JOB_ELASTIC;
    spec.profile = JOB_PROFILE_OFF;
    return spec;
}

static void of_a_job_whose_profile_is_off_no_model_is_taken_nor_kept(void **state)
{
    struct job_spec spec = unmeasured_spec("cnn-1");
    struct rig r;
    int a, b, c;

    (void)state;
    rig_init_four(&r);
    a = rig_start_one(&r, spec);
    hear_model(&r, a);
    assert_int_equal(r.changes.n, 0);
    assert_int_equal(model_of(&r, a)->source, MODEL_PRIOR);
    assert_int_equal(core_n_profiles(r.core), 0);
    report(&r, a, EVENT_PERF, "", JOB_CAUSE_NONE, 30); /* it counts all the same */
    assert_int_equal(rig_run(&r, a)->samples_done, 30);

    spec.profile = JOB_PROFILE_PASSIVE;
    b = rig_submit(&r, spec);
    hear_model(&r, b);
    assert_int_equal(model_of(&r, b)->source, MODEL_MEASURED);
    assert_int_equal(core_n_profiles(r.core), 1);
    c = rig_submit(&r, spec);
    assert_int_equal(model_of(&r, c)->source, MODEL_FAMILY);
    c = rig_submit(&r,
                   unmeasured_spec("cnn-2")); /* and what the family knows is unread */
    assert_int_equal(model_of(&r, c)->source, MODEL_PRIOR);
    assert_int_equal(model_of(&r, c)->n_proc, 0);
    rig_release(&r);
}

static void update_profile(struct rig *r, int id, struct job_spec spec,
                           enum job_profile profile)
{
    struct event update = {.kind = EVENT_UPDATE, .job = (uint32_t)id, .spec = &spec};

    spec.profile = profile;
    assert_int_equal(rig_event(r, update), 0);
}

static void an_update_drops_what_was_measured_and_takes_it_up_again(void **state)
{
    struct perf_model stated = {
        .source = MODEL_STATED, .n_proc = 1, .proc = {{64, 100000000}}};
    struct job_spec spec = unmeasured_spec("cnn-1");
    struct event submit = {.kind = EVENT_SUBMIT, .spec = &spec, .model = &stated};
    struct perf_model low = {.source = MODEL_MEASURED,
                             .micro_limit = 32,
                             .n_proc = 1,
                             .proc = {{32, 70000000}}};
    struct event event = {.kind = EVENT_MODEL, .model = &low};
    struct rig r;
    int a, b;

    (void)state;
    rig_init_four(&r);
    spec.profile = JOB_PROFILE_PROBE;
    a = rig_submit(&r, spec);
    b = rig_submit(&r, spec);
    hear_model(&r, b); /* the family's, without the ceiling */
    event.job = (uint32_t)a;
    update_profile(&r, a, spec, JOB_PROFILE_PASSIVE);
    assert_int_equal(rig_event(&r, event), 0);
    hear_model(&r, b);
    update_profile(&r, a, spec, JOB_PROFILE_OFF);
    assert_int_equal(model_of(&r, a)->source, MODEL_PRIOR);
    assert_int_equal(model_of(&r, a)->n_proc, 0);
    assert_int_equal(model_of(&r, a)->micro_limit, 32); /* memory is no measurement */
    update_profile(&r, a, spec, JOB_PROFILE_PASSIVE);
    assert_int_equal(model_of(&r, a)->source, MODEL_FAMILY);
    assert_int_equal(model_of(&r, a)->proc[0].time_ns, 138000000);
    assert_int_equal(model_of(&r, a)->micro_limit, 32);
    update_profile(&r, b, spec, JOB_PROFILE_PASSIVE);
    assert_int_equal(model_of(&r, b)->source, MODEL_MEASURED);

    b = (int)core_globals(r.core)->next_job;
    assert_int_equal(rig_event(&r, submit), 0);
    update_profile(&r, b, spec, JOB_PROFILE_OFF);
    assert_int_equal(model_of(&r, b)->source, MODEL_STATED);
    assert_int_equal(model_of(&r, b)->n_proc, 1);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resize_whose_next_devices_were_lost_goes_back_to_the_queue),
        cmocka_unit_test(a_save_is_called_off_when_a_device_of_the_next_size_is_lost),
        cmocka_unit_test(an_exit_of_a_lost_node_that_comes_late_changes_nothing),
        cmocka_unit_test(a_crash_while_saving_is_a_crash_and_no_resize),
        cmocka_unit_test(samples_that_are_repeated_again_and_again_stay_a_number),
        cmocka_unit_test(r02_a_signal_that_hits_a_job_about_to_save_does_not_fail_it),
        cmocka_unit_test(the_stall_is_the_mean_of_the_newest_and_those_before),
        cmocka_unit_test(the_newest_warm_up_that_was_told_stands),
        cmocka_unit_test(a_job_that_ends_before_it_could_be_stopped_is_done),
        cmocka_unit_test(r16_the_rest_after_failed_saves_grows_until_one_succeeds),
        cmocka_unit_test(a_pause_between_retries_ends_its_growth_at_the_sixth),
        cmocka_unit_test(what_was_trained_is_not_what_was_saved),
        cmocka_unit_test(the_owner_knows_the_length_better_than_the_trainer),
        cmocka_unit_test(a_foreign_device_is_never_given_out_and_the_wait_says_why),
        cmocka_unit_test(a_held_device_that_turns_foreign_is_withheld_after_the_exit),
        cmocka_unit_test(a_resize_leaves_the_device_that_a_stranger_is_on),
        cmocka_unit_test(a_job_goes_on_where_no_free_device_can_replace_a_foreign_one),
        cmocka_unit_test(a_start_on_a_device_in_use_costs_no_retry),
        cmocka_unit_test(of_a_job_whose_profile_is_off_no_model_is_taken_nor_kept),
        cmocka_unit_test(an_update_drops_what_was_measured_and_takes_it_up_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
