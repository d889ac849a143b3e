/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plan.h"

#include "support/rig.h"

#include "base/units.h"
#include "core/explain.h"
#include "core/perf/learn.h"

static bool wants_plan(const struct rig *r)
{
    usec_t when;

    return core_needs_plan(r->core, &when);
}

static void rig_typed_node(struct rig *r, const char *name, const char *type,
                           int32_t devices)
{
    struct event event = {.kind = EVENT_NODE_UP, .node = {.devices = devices}};

    (void)snprintf(event.node.name, sizeof event.node.name, "%s", name);
    (void)snprintf(event.node.device_type, sizeof event.node.device_type, "%s", type);
    assert_int_equal(rig_event(r, event), 0);
}

static void a_job_of_any_type_goes_where_it_fits(void **state)
{
    struct rig r;
    int big, small, wide;

    (void)state;
    rig_init(&r);
    rig_typed_node(&r, "n1", "a100", 4);
    rig_typed_node(&r, "n2", "v100", 2);
    rig_set_scaler_none(&r);
    assert_int_equal(rig_submit(&r, rig_spec("wide", 5, 6)), E_INFEASIBLE);
    assert_non_null(strstr(r.err.text, "4 of one type"));
    big = rig_start_one(&r, rig_spec("big", 3, 3));
    small = rig_start_one(&r, rig_spec("small", 1, 1)); /* most is left of the v100 */
    wide = rig_submit(&r, rig_spec("wide", 4, 4));
    rig_plan(&r);
    /* One a100 is free and one v100; still it waits for the type that could hold it. */
    assert_non_null(strstr(rig_run(&r, wide)->reason, "can be freed"));
    assert_int_equal(core_cluster(r.core)->devices[4].job, small);
    rig_report(&r, EVENT_EXIT, big, "n1", JOB_CAUSE_DONE);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, wide)->state, JOB_STARTING);
    rig_release(&r);
}

static void jobs_that_return_together_keep_their_order(void **state)
{
    struct event lost = {.kind = EVENT_NODE_LOST, .node = {.name = "n1"}};
    struct rig r;
    int ids[3];

    (void)state;
    rig_init_four(&r);
    for (int i = 0; i < 3; i++)
        ids[i] = rig_start_one(&r, rig_spec("a", 1, 1));
    assert_int_equal(rig_event(&r, lost), 0);
    for (int i = 1; i < 3; i++)
        assert_true(rig_run(&r, ids[i - 1])->order < rig_run(&r, ids[i])->order);
    rig_node(&r, "n1", 4);
    rig_plan(&r);
    rig_start_all(&r);
    assert_int_equal(rig_event(&r, (struct event){.kind = EVENT_DAEMON_START}), 0);
    r.now_us += 60 * USEC_PER_SEC;
    assert_int_equal(rig_event(&r, (struct event){.kind = EVENT_WAKE}), 0);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(rig_run(&r, ids[i])->state, JOB_QUEUED);
        assert_true(rig_run(&r, ids[i - 1])->order < rig_run(&r, ids[i])->order);
    }
    rig_release(&r);
}

static void jobs_that_yield_together_keep_their_order(void **state)
{
    static const char *const lost_nodes[] = {"n1", "n2", "n4", "n5"};
    struct job_spec spec = rig_spec("three", 3, 3);
    struct event lost = {.kind = EVENT_NODE_LOST};
    struct rig r;
    int a, b;

    (void)state;
    rig_init(&r);
    for (int i = 1; i <= 6; i++) {
        char name[4] = {'n', (char)('0' + i)};

        rig_node(&r, name, 1);
    }
    rig_set_scaler_none(&r);
    spec.level = JOB_RESTARTABLE;
    a = rig_start_one(&r, spec);
    b = rig_start_one(&r, spec);
    for (size_t i = 0; i < ARRAY_SIZE(lost_nodes); i++) {
        (void)snprintf(lost.node.name, sizeof lost.node.name, "%s", lost_nodes[i]);
        assert_int_equal(rig_event(&r, lost), 0);
    }
    rig_plan(&r); /* two devices are left, one each */
    assert_int_equal(rig_run(&r, a)->goal, JOB_QUEUED);
    assert_int_equal(rig_run(&r, b)->goal, JOB_QUEUED);
    assert_true(rig_run(&r, a)->order < rig_run(&r, b)->order);
    rig_release(&r);
}

static void plans_come_at_multiples_of_the_interval_only(void **state)
{
    struct event event = {.kind = EVENT_CONFIG};
    usec_t when;
    struct rig r;

    (void)state;
    rig_init_four(&r);
    event.config = *core_config(r.core);
    event.config.interval_us = 600 * USEC_PER_SEC;
    assert_int_equal(rig_event(&r, event), 0);
    assert_true(core_needs_plan(r.core, &when));
    assert_int_equal(when, 600 * USEC_PER_SEC);
    r.now_us = when;
    rig_plan(&r);
    assert_false(core_needs_plan(r.core, &when));
    rig_submit(&r, rig_spec("a", 1, 1)); /* in the moment of the plan, but after it */
    assert_true(core_needs_plan(r.core, &when));
    assert_int_equal(when, 1200 * USEC_PER_SEC);
    r.now_us = when;
    rig_plan(&r);
    rig_start_all(&r);
    rig_plan(&r);
    r.now_us = 3100 * USEC_PER_SEC; /* long after */
    rig_submit(&r, rig_spec("b", 1, 1));
    assert_true(core_needs_plan(r.core, &when));
    assert_int_equal(when, 3600 * USEC_PER_SEC);
    r.now_us = 3600 * USEC_PER_SEC + 5; /* late, and not put off by the next input */
    rig_submit(&r, rig_spec("c", 1, 1));
    assert_true(core_needs_plan(r.core, &when));
    assert_int_equal(when, r.now_us);
    rig_release(&r);
}

/* Every release of devices must make the waiting jobs be looked at again. */
static void r12_every_release_asks_for_a_plan(void **state)
{
    struct event cancel = {.kind = EVENT_CANCEL};
    struct event lost = {.kind = EVENT_NODE_LOST, .node = {.name = "n2"}};
    struct rig r;
    int a, b, c;

    (void)state;
    rig_init_four(&r);
    rig_node(&r, "n2", 1);
    a = rig_start_one(&r, rig_spec("a", 1, 4));
    b = rig_start_one(&r, rig_spec("b", 1, 1));
    c = rig_submit(&r, rig_spec("c", 2, 2));
    rig_plan(&r);
    assert_false(wants_plan(&r));
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_STOPPED); /* a shrink has freed some */
    assert_true(wants_plan(&r));
    rig_plan(&r);
    assert_int_equal(rig_run(&r, c)->state, JOB_STARTING);
    rig_start_all(&r);
    rig_plan(&r);
    assert_false(wants_plan(&r));
    rig_report(&r, EVENT_EXIT, c, "n1", JOB_CAUSE_DONE); /* an end */
    assert_true(wants_plan(&r));
    rig_plan(&r);
    cancel.job = (uint32_t)a;
    assert_int_equal(rig_event(&r, cancel), 0);
    rig_plan(&r);
    assert_false(wants_plan(&r));
    for (int i = 1; i <= 2; i++) /* the exit that a cancel led to, whatever its nodes */
        rig_report(&r, EVENT_EXIT, a, i == 1 ? "n1" : "n2", JOB_CAUSE_STOPPED);
    assert_null(rig_run(&r, a));
    assert_true(wants_plan(&r));
    rig_plan(&r);
    assert_int_equal(rig_event(&r, lost), 0);
    assert_true(wants_plan(&r));
    rig_plan(&r);
    rig_node(&r, "n2", 1); /* a node is back */
    assert_true(wants_plan(&r));
    (void)b;
    rig_release(&r);
}

static void r08_a_growth_by_two_is_one_generation(void **state)
{
    struct job_spec spec = rig_spec("a", 2, 4);
    struct event update = {.kind = EVENT_UPDATE, .spec = &spec};
    int32_t devices[4];
    struct rig r;
    int a;

    (void)state;
    rig_init_four(&r);
    spec.sizes.max = 2;
    spec.level = JOB_RESTARTABLE;
    a = rig_start_one(&r, spec);
    spec.sizes.max = 4;
    update.job = (uint32_t)a;
    assert_int_equal(rig_event(&r, update), 0);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->next.size, 4);
    assert_int_equal(rig_run(&r, a)->next.generation, 2);
    rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_STOPPED);
    /* All four members are named at once; who comes late is waited for, not planned for.
     */
    assert_int_equal(
        duty_devices(core_cluster(r.core), (uint32_t)a, HOLD_NEXT, devices, 4), 4);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->generation, 2);
    rig_report(&r, EVENT_STARTED, a, "", JOB_CAUSE_NONE);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->plan.generation, 2);
    assert_int_equal(rig_run(&r, a)->plan.size, 4);
    rig_release(&r);
}

static void r07_counters_never_fall_over_planned_changes(void **state)
{
    struct job_spec spec = rig_spec("a", 1, 4);
    struct event saved = {.kind = EVENT_SAVED, .samples = 900};
    struct event perf = {.kind = EVENT_PERF, .samples = 1000};
    struct event update = {.kind = EVENT_UPDATE, .spec = &spec};
    struct event ended = {
        .kind = EVENT_EXIT, .cause = JOB_CAUSE_STOPPED, .samples = 1100};
    struct rig r;
    int a;

    (void)state;
    rig_init_four(&r);
    spec.level = JOB_ELASTIC;
    a = rig_start_one(&r, spec);
    for (int32_t max = 3; max >= 1; max--) {
        const struct job_run *run = rig_run(&r, a);
        int64_t before;

        spec.sizes.max = max % 2 ? 1 : 4;
        spec.sizes.min = spec.sizes.max;
        update.job = perf.job = saved.job = ended.job = (uint32_t)a;
        perf.incarnation = saved.incarnation = ended.incarnation = run->incarnation;
        perf.samples += 1000;
        assert_int_equal(rig_event(&r, perf), 0);
        before = rig_run(&r, a)->samples_done;
        assert_int_equal(before, perf.samples);
        assert_int_equal(rig_event(&r, update), 0);
        rig_plan(&r);
        if (rig_run(&r, a)->state != JOB_RESIZING)
            continue;
        saved.samples = before - 100; /* an answer that was under way before the report */
        assert_int_equal(rig_event(&r, saved), 0);
        assert_int_equal(rig_run(&r, a)->samples_done, before);
        ended.samples = before + 50; /* the step that was under way */
        (void)snprintf(ended.node.name, sizeof ended.node.name, "n1");
        assert_int_equal(rig_event(&r, ended), 0);
        assert_int_equal(rig_run(&r, a)->samples_done, before + 50);
        assert_int_equal(rig_run(&r, a)->samples_repeated, 0);
        rig_start_all(&r);
    }
    assert_true(rig_run(&r, a)->generation > 1);
    rig_release(&r);
}

static void a_rigid_job_that_lost_a_node_is_moved_as_a_whole(void **state)
{
    struct rig r;
    int a;

    (void)state;
    rig_init(&r);
    rig_node(&r, "n1", 1);
    rig_node(&r, "n2", 1);
    rig_node(&r, "n3", 1);
    a = rig_start_one(&r, rig_spec("a", 2, 2));
    rig_lose(&r, "n1");
    assert_true(rig_run(&r, a)->is_broken);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    assert_int_equal(rig_run(&r, a)->phase, JOB_PHASE_EXIT);
    assert_int_equal(rig_run(&r, a)->next.size, 2);
    rig_release(&r);
}

static void assert_grows_as_it_is_measured(enum job_profile profile)
{
    struct perf_model model = {.source = MODEL_MEASURED,
                               .largest_size = 1,
                               .n_proc = 2,
                               .proc = {{1, 12000000}, {64, 138000000}}};
    struct event measured = {.kind = EVENT_MODEL, .model = &model};
    struct job_spec spec = rig_spec("a", 1, 8);
    struct rig r;
    int a;

    rig_init(&r);
    rig_node(&r, "n1", 8);
    rig_set_scaler_none(&r);
    spec.level = JOB_ELASTIC;
    spec.profile = profile;
    spec.batch_min = 64;
    spec.batch_max = 512;
    spec.gpu_batch = 64;
    a = rig_start_one(&r, spec);
    assert_int_equal(rig_run(&r, a)->plan.size, 1); /* unmeasured: its smallest */
    measured.job = (uint32_t)a;
    for (int32_t size = 2; size <= 8; size *= 2) {
        assert_int_equal(rig_event(&r, measured), 0);
        rig_plan(&r);
        assert_int_equal(rig_run(&r, a)->next.size, size);
        rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_STOPPED);
        rig_start_all(&r);
        model.largest_size = size;
    }
    rig_release(&r);
}

static void a_job_grows_to_at_most_twice_what_was_measured(void **state)
{
    (void)state;
    assert_grows_as_it_is_measured(JOB_PROFILE_PROBE);
    assert_grows_as_it_is_measured(JOB_PROFILE_PASSIVE);
}

/* It would wait for ever. */
static void a_job_that_is_not_to_be_measured_is_not_held_at_its_least_size(void **state)
{
    struct event update = {.kind = EVENT_UPDATE};
    struct job_spec spec = rig_spec("a", 1, 8);
    struct explain x;
    struct buf out;
    struct rig r;
    int a, b;

    (void)state;
    rig_init(&r);
    rig_node(&r, "n1", 8);
    rig_set_scaler_none(&r);
    spec.level = JOB_ELASTIC;
    spec.batch_min = spec.batch_base = 64;
    spec.batch_max = 512;
    spec.profile = JOB_PROFILE_OFF;
    a = rig_start_one(&r, spec);
    assert_int_equal(rig_run(&r, a)->plan.size, 8);
    assert_int_equal(rig_run(&r, a)->plan.global_batch, 64); /* nothing speaks for more */
    assert_int_equal(explain_job(r.core, (uint32_t)a, r.now_us, &x, NULL), 0);
    buf_init(&out, 4096);
    explain_print(&x, &out);
    assert_non_null(strstr(out.text, "5.28 of one gpu's, assumed to scale as gpus^0.8 "
                                     "(not measured: profile off)\n"));
    buf_release(&out);

    assert_int_equal(
        rig_event(&r, (struct event){.kind = EVENT_CANCEL, .job = (uint32_t)a}), 0);
    rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_STOPPED);
    spec.profile = JOB_PROFILE_PROBE;
    b = rig_start_one(&r, spec);
    assert_int_equal(rig_run(&r, b)->plan.size, 1);
    spec.profile = JOB_PROFILE_OFF; /* an update is obeyed by the next plan */
    update.job = (uint32_t)b;
    update.spec = &spec;
    assert_int_equal(rig_event(&r, update), 0);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, b)->next.size, 8);
    rig_release(&r);
}

/* Steps of a job whose curve is known, in ms for 1, 2, 3, 4 devices. */
static void measure(struct rig *r, int id, struct perf_model *model, const int32_t *ms)
{
    const struct job_plan *plan = &rig_run(r, id)->plan;
    const struct learn_observation seen = {.kind = LEARN_STEP,
                                           .size = plan->size,
                                           .micro_batch = i32_max(1, plan->micro_batch),
                                           .accumulation = i32_max(1, plan->accumulation),
                                           .count = 3,
                                           .time_ns =
                                               (int64_t)ms[plan->size - 1] * 1000000};
    struct event event = {.kind = EVENT_MODEL, .job = (uint32_t)id, .model = model};

    assert_true(learn_observe(model, &seen));
    assert_int_equal(rig_event(r, event), 0);
    rig_plan(r);
}

/* The sizes that the job has had when it is left alone. */
static void assert_tries(enum job_profile profile, const int32_t *ms, int32_t batch,
                         const int32_t *sizes, int n)
{
    struct job_spec spec = rig_spec("a", 1, 4);
    struct perf_model model = {0};
    struct rig r;
    int a;

    rig_init_four(&r);
    spec.level = JOB_RESTARTABLE;
    spec.batch_min = spec.batch_max = batch;
    spec.profile = profile;
    a = rig_start_one(&r, spec);
    for (int i = 0; i < n; i++) {
        assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
        assert_int_equal(rig_run(&r, a)->plan.size, sizes[i]);
        if (i + 1 < n || model.n_steps == 0)
            measure(&r, a, &model, ms);
        if (rig_run(&r, a)->state == JOB_RUNNING)
            continue;
        rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_STOPPED);
        rig_start_all(&r);
        rig_plan(&r);
    }
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    assert_int_equal(rig_run(&r, a)->plan.size, sizes[n - 1]);
    rig_release(&r);
}

static void
a_restartable_job_that_reports_is_measured_at_fewer_devices_first(void **state)
{
    static const int32_t best_at_two[] = {500, 300, 500, 700};
    static const int32_t uneven[] = {300, 330, 900, 1500}; /* of one sample each */
    static const int32_t scales[] = {800, 420, 300, 240};
    static const int32_t best_alone[] = {100, 300, 500, 700};
    static const int32_t to_two[] = {4, 2, 1, 2};
    static const int32_t to_four[] = {4, 2, 4};
    static const int32_t to_one[] = {4, 2, 1};

    (void)state;
    assert_tries(JOB_PROFILE_PROBE, best_at_two, 60, to_two, 4);
    assert_tries(JOB_PROFILE_PROBE, best_alone, 60, to_one, 3);
    assert_tries(JOB_PROFILE_PROBE, uneven, 0, to_two, 4);
    assert_tries(JOB_PROFILE_PROBE, best_alone, 0, to_one, 3);
    assert_tries(JOB_PROFILE_PROBE, scales, 60, to_four, 3);
}

static void no_size_is_tried_of_a_job_that_is_measured_passively(void **state)
{
    static const int32_t best_at_two[] = {500, 300, 500, 700};
    static const int32_t stays[] = {4};

    (void)state;
    assert_tries(JOB_PROFILE_PASSIVE, best_at_two, 60, stays, 1);
    assert_tries(JOB_PROFILE_PASSIVE, best_at_two, 0, stays, 1);
}

static void a_restartable_job_without_a_word_has_all_it_can_get(void **state)
{
    struct job_spec spec = rig_spec("a", 1, 4);
    struct rig r;
    int a;

    (void)state;
    rig_init_four(&r);
    spec.level = JOB_RESTARTABLE;
    a = rig_start_one(&r, spec);
    assert_int_equal(rig_run(&r, a)->plan.size, 4);
    rig_release(&r);
}

static void no_size_is_tried_that_has_no_plan(void **state)
{
    static const int32_t ms[] = {0, 0, 0, 100};
    struct job_spec spec = rig_spec("a", 1, 4);
    struct perf_model model = {0};
    struct rig r;
    int a;

    (void)state;
    rig_init_four(&r);
    spec.level = JOB_RESTARTABLE;
    spec.batch_min = spec.batch_max = 64;
    spec.gpu_batch = 16;
    spec.accumulate = JOB_ACCUMULATE_NEVER;
    a = rig_start_one(&r, spec);
    measure(&r, a, &model, ms);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    assert_int_equal(rig_run(&r, a)->plan.size, 4);
    rig_release(&r);
}

static void a_start_goes_before_a_growth(void **state)
{
    struct event update = {.kind = EVENT_UPDATE};
    struct event cancel = {.kind = EVENT_CANCEL};
    struct job_spec spec = rig_spec("a", 1, 1);
    struct rig r;
    int a, b, c;

    (void)state;
    rig_init_four(&r);
    spec.level = JOB_RESTARTABLE;
    a = rig_start_one(&r, spec);
    b = rig_start_one(&r, rig_spec("b", 2, 2));
    cancel.job = (uint32_t)b;
    assert_int_equal(rig_event(&r, cancel), 0);
    spec.sizes.max = 2;
    update.spec = &spec;
    update.job = (uint32_t)a;
    assert_int_equal(rig_event(&r, update), 0);
    c = rig_submit(&r, rig_spec("c", 1, 1));
    rig_plan(&r); /* one device is free, two are on their way */
    assert_int_equal(rig_run(&r, c)->state, JOB_STARTING);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    rig_report(&r, EVENT_EXIT, b, "n1", JOB_CAUSE_STOPPED);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    rig_release(&r);
}

/* b waits for devices that a gives back, and c does not take the free one meanwhile: so b
 * starts as soon as it can. */
static void what_is_free_is_set_aside_for_who_goes_first(void **state)
{
    struct event cancel = {.kind = EVENT_CANCEL};
    struct rig r;
    int a, b, c;

    (void)state;
    rig_init_four(&r);
    a = rig_start_one(&r, rig_spec("a", 3, 3));
    cancel.job = (uint32_t)a;
    assert_int_equal(rig_event(&r, cancel), 0);
    b = rig_submit(&r, rig_spec("b", 2, 2));
    c = rig_submit(&r, rig_spec("c", 1, 1));
    rig_plan(&r);
    assert_non_null(strstr(rig_run(&r, b)->reason, "waits for 1 gpu that others"));
    assert_int_equal(rig_run(&r, c)->state, JOB_QUEUED);
    rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_STOPPED);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, b)->state, JOB_STARTING);
    assert_int_equal(rig_run(&r, c)->state, JOB_STARTING);
    rig_release(&r);
}

/* One device is free on each node. Two would be faster than one on a single node; across
 * nodes they are not, which is known only once they are placed. */
static void a_row_is_made_anew_when_placement_needs_more_nodes(void **state)
{
    struct perf_model model = {.source = MODEL_STATED,
                               .n_proc = 2,
                               .proc = {{1, 12000000}, {64, 138000000}},
                               .comm_form = MODEL_COMM_TABLE,
                               .n_comm = 1,
                               .comm = {{2, 20000000}},
                               .inter_node_ppm = 20 * PPM};
    struct job_spec spec = rig_spec("a", 1, 2);
    struct event event = {.kind = EVENT_SUBMIT, .spec = &spec, .model = &model};
    struct rig r;
    int a;

    (void)state;
    rig_init(&r);
    rig_node(&r, "n1", 3);
    rig_node(&r, "n2", 3);
    rig_set_scaler_none(&r);
    for (int i = 0; i < 2; i++)
        (void)rig_start_one(&r, rig_spec("other", 2, 2));
    spec.batch_min = 64;
    spec.batch_max = 128;
    spec.gpu_batch = 64;
    for (int i = 0; i < 2; i++) {
        a = (int)core_globals(r.core)->next_job;
        assert_int_equal(rig_event(&r, event), 0);
        rig_plan(&r);
        assert_int_equal(rig_run(&r, a)->plan.size, i == 0 ? 1 : 2);
        assert_int_equal(
            rig_event(&r, (struct event){.kind = EVENT_CANCEL, .job = (uint32_t)a}), 0);
        for (int node = 0; node < 2; node++)
            if (rig_run(&r, a))
                rig_report(&r, EVENT_EXIT, a, node ? "n2" : "n1", JOB_CAUSE_STOPPED);
        model.inter_node_ppm = PPM; /* with nodes as near as devices, two are better */
    }
    rig_release(&r);
}

/* Voda's first bug: job data went to a copy, and the algorithm saw none. A plan sees
 * every job with its own data, and a job of which nothing is known is no error. */
static void voda_1_every_job_is_planned_with_its_own_data(void **state)
{
    static const struct perf_model model = {
        .source = MODEL_STATED, .n_proc = 1, .proc = {{64, 138000000}}};
    struct job_spec spec = rig_spec("known", 1, 4);
    struct event event = {.kind = EVENT_SUBMIT, .spec = &spec, .model = &model};
    struct plan plan;
    struct rig r;

    (void)state;
    rig_init_four(&r);
    spec.batch_min = 64;
    spec.batch_max = 256;
    assert_int_equal(rig_event(&r, event), 0);
    assert_true(rig_submit(&r, rig_spec("unknown", 1, 4)) > 0);
    assert_int_equal(plan_make(r.core, r.now_us, &plan), 0);
    assert_int_equal(plan.n_items, 2);
    for (int32_t i = 0; i < plan.n_items; i++) {
        const struct plan_item *item = &plan.items[i];

        assert_ptr_equal(item->job, core_find_job(r.core, item->job->spec.id));
        assert_true(item->row->n_options > 0);
        assert_true(item->target.size >= 1);
    }
    assert_in_range(plan_find(&plan, 1)->target.global_batch, 64, 256);
    assert_int_equal(plan_find(&plan, 2)->target.global_batch, 0);
    assert_null(plan_find(&plan, 3));
    plan_release(&plan);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_of_any_type_goes_where_it_fits),
        cmocka_unit_test(jobs_that_return_together_keep_their_order),
        cmocka_unit_test(jobs_that_yield_together_keep_their_order),
        cmocka_unit_test(plans_come_at_multiples_of_the_interval_only),
        cmocka_unit_test(r12_every_release_asks_for_a_plan),
        cmocka_unit_test(r08_a_growth_by_two_is_one_generation),
        cmocka_unit_test(r07_counters_never_fall_over_planned_changes),
        cmocka_unit_test(a_rigid_job_that_lost_a_node_is_moved_as_a_whole),
        cmocka_unit_test(a_job_grows_to_at_most_twice_what_was_measured),
        cmocka_unit_test(a_job_that_is_not_to_be_measured_is_not_held_at_its_least_size),
        cmocka_unit_test(no_size_is_tried_of_a_job_that_is_measured_passively),
        cmocka_unit_test(
            a_restartable_job_that_reports_is_measured_at_fewer_devices_first),
        cmocka_unit_test(a_restartable_job_without_a_word_has_all_it_can_get),
        cmocka_unit_test(no_size_is_tried_that_has_no_plan),
        cmocka_unit_test(a_start_goes_before_a_growth),
        cmocka_unit_test(what_is_free_is_set_aside_for_who_goes_first),
        cmocka_unit_test(a_row_is_made_anew_when_placement_needs_more_nodes),
        cmocka_unit_test(voda_1_every_job_is_planned_with_its_own_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
