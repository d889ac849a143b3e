/* SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

#include "support/rig.h"

#include "base/mem.h"
#include "base/rng.h"

static void a_job_goes_from_submit_to_done(void **state)
{
    struct rig r;
    int id;

    (void)state;
    rig_init_four(&r);
    id = rig_submit(&r, rig_spec("a", 2, 2));
    assert_int_equal(id, 1);
    assert_int_equal(rig_run(&r, id)->state, JOB_QUEUED);
    assert_true(core_globals(r.core)->needs_plan);
    rig_plan(&r);
    assert_int_equal(rig_duty(&r, id), DUTY_START);
    assert_int_equal(rig_held(&r, id), 2);
    assert_int_equal(rig_run(&r, id)->plan.generation, 1);
    rig_report(&r, EVENT_STARTED, id, "", JOB_CAUSE_NONE);
    assert_int_equal(rig_duty(&r, id), DUTY_GO_ON);
    rig_report(&r, EVENT_EXIT, id, "n1", JOB_CAUSE_DONE);
    assert_null(rig_run(&r, id));
    assert_int_equal(cluster_count(core_cluster(r.core)).free, 4);
    rig_release(&r);
}

static void a_refused_submit_leaves_no_trace(void **state)
{
    struct rig r;
    struct job_spec spec = rig_spec("", 1, 1);

    (void)state;
    rig_init_four(&r);
    assert_int_equal(rig_submit(&r, spec), E_INVALID);
    assert_string_equal(r.err.field, "name");
    spec = rig_spec("big", 5, 8);
    assert_int_equal(rig_submit(&r, spec), E_INFEASIBLE);
    assert_string_equal(r.err.field, "gpus");
    assert_int_equal(core_n_jobs(r.core), 0);
    assert_int_equal(core_globals(r.core)->next_job, 1);
    rig_release(&r);
}

static void r17_a_cluster_without_devices_lets_jobs_wait(void **state)
{
    struct rig r;
    int id;

    (void)state;
    rig_init(&r);
    id = rig_submit(&r, rig_spec("early", 1, 4));
    assert_true(id > 0);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, id)->state, JOB_QUEUED);
    rig_node(&r, "n1", 2);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, id)->state, JOB_STARTING);
    assert_int_equal(rig_held(&r, id), 2);
    rig_release(&r);
}

static void r11_devices_change_hands_only_after_a_confirmed_exit(void **state)
{
    struct rig r;
    int a, b;

    (void)state;
    rig_init_four(&r);
    a = rig_start_one(&r, rig_spec("a", 1, 4));
    assert_int_equal(rig_held(&r, a), 4);
    b = rig_submit(&r, rig_spec("b", 1, 4));
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    assert_int_equal(rig_duty(&r, a), DUTY_STOP);
    assert_int_equal(rig_run(&r, b)->state, JOB_QUEUED);
    rig_plan(&r);
    assert_int_equal(rig_held(&r, a), 4);
    assert_int_equal(rig_held(&r, b), 0);
    rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_STOPPED);
    assert_int_equal(rig_run(&r, a)->phase, JOB_PHASE_START);
    assert_int_equal(rig_held(&r, a), 2);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, b)->state, JOB_STARTING);
    assert_int_equal(rig_held(&r, b), 2);
    rig_start_all(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    assert_int_equal(rig_run(&r, a)->resizes, 1);
    assert_int_equal(rig_run(&r, a)->plan.generation, 2);
    assert_int_equal(rig_run(&r, a)->incarnation, 2);
    rig_release(&r);
}

static void an_outdated_or_repeated_report_changes_nothing(void **state)
{
    struct event old = {.kind = EVENT_EXIT, .cause = JOB_CAUSE_USER_ERROR, .samples = -1};
    struct rig r;
    int a;

    (void)state;
    rig_init_four(&r);
    a = rig_start_one(&r, rig_spec("a", 1, 4));
    rig_submit(&r, rig_spec("b", 1, 4));
    rig_plan(&r);
    rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_STOPPED);
    old.job = (uint32_t)a;
    old.incarnation = 1;
    (void)snprintf(old.node.name, sizeof old.node.name, "n1");
    assert_int_equal(rig_event(&r, old), 0);
    assert_int_equal(r.changes.n, 0);
    old.incarnation = 99;
    assert_int_equal(rig_event(&r, old), 0);
    assert_int_equal(r.changes.n, 0);
    assert_int_equal(rig_report(&r, EVENT_SAVED, a, "", JOB_CAUSE_NONE), 0);
    assert_int_equal(r.changes.n, 0);
    rig_release(&r);
}

static struct job_spec elastic_spec(const char *name)
{
    struct job_spec spec = rig_spec(name, 1, 4);

    spec.level = JOB_ELASTIC;
    spec.batch_min = 64;
    spec.batch_max = 256;
    spec.gpu_batch = 64;
    spec.samples_total = 1000000;
    return spec;
}

static int submit_stated(struct rig *r, struct job_spec spec)
{
    static const struct perf_model model = {
        .source = MODEL_STATED,
        .n_proc = 2,
        .proc = {{1, 12000000}, {64, 138000000}},
    };
    uint32_t id = core_globals(r->core)->next_job;
    struct event event = {.kind = EVENT_SUBMIT, .spec = &spec, .model = &model};

    assert_int_equal(rig_event(r, event), 0);
    return (int)id;
}

static void r16_a_failed_save_keeps_the_devices(void **state)
{
    struct event failed = {
        .kind = EVENT_SAVE_FAILED, .incarnation = 1, .text = "disk full"};
    struct rig r;
    int a, b;

    (void)state;
    rig_init_four(&r);
    a = submit_stated(&r, elastic_spec("a"));
    rig_plan(&r);
    rig_start_all(&r);
    assert_int_equal(rig_held(&r, a), 4);
    assert_int_equal(rig_run(&r, a)->plan.global_batch, 256);
    b = submit_stated(&r, elastic_spec("b"));
    rig_plan(&r);
    assert_int_equal(rig_duty(&r, a), DUTY_SAVE);
    assert_true(rig_run(&r, a)->next.size < 4);
    assert_int_equal(rig_run(&r, a)->next.global_batch, 64 * rig_run(&r, a)->next.size);
    failed.job = (uint32_t)a;
    assert_int_equal(rig_event(&r, failed), 0);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    assert_int_equal(rig_run(&r, a)->plan.size, 4);
    assert_int_equal(rig_held(&r, a), 4);
    assert_non_null(strstr(rig_run(&r, a)->reason, "disk full"));
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING); /* left alone for a while */
    assert_int_equal(rig_run(&r, b)->state, JOB_QUEUED);
    r.now_us = core_next_wake(r.core);
    assert_int_equal(rig_event(&r, (struct event){.kind = EVENT_WAKE}), 0);
    rig_plan(&r);
    assert_int_equal(rig_duty(&r, a), DUTY_SAVE);
    assert_int_equal(rig_run(&r, a)->next.generation, 3); /* 2 was used up */
    rig_report(&r, EVENT_SAVED, a, "", JOB_CAUSE_NONE);
    assert_int_equal(rig_duty(&r, a), DUTY_STOP);
    rig_release(&r);
}

static void r13_a_job_that_ends_during_a_resize_is_done_once(void **state)
{
    struct rig r;
    int a, b;

    (void)state;
    rig_init_four(&r);
    a = rig_start_one(&r, rig_spec("a", 1, 4));
    b = rig_submit(&r, rig_spec("b", 1, 4));
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->phase, JOB_PHASE_EXIT);
    rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_DONE);
    assert_null(rig_run(&r, a));
    assert_int_equal(rig_report(&r, EVENT_STARTED, a, "", JOB_CAUSE_NONE), 0);
    assert_int_equal(r.changes.n, 0);
    rig_plan(&r);
    assert_int_equal(rig_held(&r, b), 4);
    rig_release(&r);
}

static void a_lost_node_forces_the_survivors_to_a_smaller_size(void **state)
{
    struct event lost = {.kind = EVENT_NODE_LOST, .node = {.name = "n2"}};
    struct rig r;
    int a;

    (void)state;
    rig_init(&r);
    rig_node(&r, "n1", 2);
    rig_node(&r, "n2", 2);
    a = rig_start_one(&r, rig_spec("a", 1, 4));
    assert_int_equal(rig_event(&r, lost), 0);
    assert_true(rig_run(&r, a)->is_broken);
    assert_int_equal(rig_held(&r, a), 2);
    assert_int_equal(cluster_count(core_cluster(r.core)).gone, 2);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    assert_int_equal(rig_run(&r, a)->phase, JOB_PHASE_EXIT);
    assert_int_equal(rig_run(&r, a)->next.size, 2);
    rig_report(&r, EVENT_EXIT, a, "n1",
               JOB_CAUSE_USER_ERROR); /* peers gone: not its fault */
    assert_int_equal(rig_run(&r, a)->phase, JOB_PHASE_START);
    rig_start_all(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    lost.node.name[1] = '1';
    assert_int_equal(rig_event(&r, lost), 0);
    assert_int_equal(rig_run(&r, a)->state, JOB_QUEUED);
    assert_int_equal(rig_run(&r, a)->retries_left, 0);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_QUEUED);
    rig_node(&r, "n2", 2);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_STARTING);
    rig_release(&r);
}

static void retries_are_spent_with_growing_pauses(void **state)
{
    struct job_spec spec = rig_spec("flaky", 1, 1);
    struct rig r;
    int a;

    (void)state;
    rig_init_four(&r);
    spec.retries = 2;
    a = rig_start_one(&r, spec);
    for (int i = 0; i < 2; i++) {
        rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_USER_ERROR);
        assert_int_equal(rig_run(&r, a)->state, JOB_QUEUED);
        assert_int_equal(rig_run(&r, a)->retries_left, 1 - i);
        rig_plan(&r);
        assert_int_equal(rig_run(&r, a)->state, JOB_QUEUED);
        assert_int_equal(core_next_wake(r.core), r.now_us + (10 << i) * USEC_PER_SEC);
        r.now_us = core_next_wake(r.core);
        assert_int_equal(rig_event(&r, (struct event){.kind = EVENT_WAKE}), 0);
        rig_plan(&r);
        rig_start_all(&r);
    }
    rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_USER_ERROR);
    assert_null(rig_run(&r, a));
    rig_release(&r);
}

static void a_job_whose_shim_dies_at_once_does_not_spin(void **state)
{
    struct rig r;
    int a;

    (void)state;
    rig_init_four(&r);
    a = rig_start_one(&r, rig_spec("killer", 1, 1));
    rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_LOST);
    assert_int_equal(rig_run(&r, a)->state, JOB_QUEUED);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_QUEUED);
    assert_int_equal(core_next_wake(r.core), r.now_us + 10 * USEC_PER_SEC);
    r.now_us += 10 * USEC_PER_SEC;
    assert_int_equal(rig_event(&r, (struct event){.kind = EVENT_WAKE}), 0);
    rig_plan(&r);
    rig_start_all(&r);
    r.now_us += USEC_PER_HOUR; /* a shim that dies after a while is another matter */
    rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_LOST);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_STARTING);
    rig_release(&r);
}

static void cancel_and_pause_work_in_every_state(void **state)
{
    struct event cancel = {.kind = EVENT_CANCEL};
    struct event pause = {.kind = EVENT_PAUSE};
    struct event resume = {.kind = EVENT_RESUME};
    struct rig r;
    int a;

    (void)state;
    rig_init_four(&r);
    a = rig_submit(&r, rig_spec("a", 1, 4));
    cancel.job = pause.job = resume.job = (uint32_t)a;
    assert_int_equal(rig_event(&r, resume), E_STATE);
    assert_int_equal(rig_event(&r, pause), 0);
    assert_int_equal(rig_event(&r, pause), E_STATE);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_PAUSED);
    assert_int_equal(rig_event(&r, resume), 0);
    rig_plan(&r);
    assert_int_equal(rig_event(&r, pause), 0);
    assert_int_equal(rig_run(&r, a)->state, JOB_STOPPING);
    assert_int_equal(rig_run(&r, a)->goal, JOB_PAUSED);
    assert_int_equal(rig_event(&r, resume), 0);
    assert_int_equal(rig_run(&r, a)->goal, JOB_QUEUED);
    assert_int_equal(rig_event(&r, cancel), 0);
    assert_int_equal(rig_run(&r, a)->goal, JOB_CANCELLED);
    assert_int_equal(rig_event(&r, cancel), E_STATE);
    assert_int_equal(rig_event(&r, pause), E_STATE);
    assert_int_equal(rig_held(&r, a), 4);
    rig_report(&r, EVENT_EXIT, a, "n1", JOB_CAUSE_STOPPED);
    assert_null(rig_run(&r, a));
    assert_int_equal(rig_event(&r, cancel), E_NOTFOUND);
    rig_release(&r);
}

static void r09_jobs_are_adopted_or_given_up_after_a_restart_of_the_daemon(void **state)
{
    struct rig r;
    int a, b;

    (void)state;
    rig_init_four(&r);
    a = rig_start_one(&r, rig_spec("a", 2, 2));
    b = rig_start_one(&r, rig_spec("b", 1, 1));
    assert_int_equal(rig_event(&r, (struct event){.kind = EVENT_DAEMON_START}), 0);
    assert_true(rig_run(&r, a)->is_unconfirmed);
    rig_report(&r, EVENT_ADOPTED, a, "", JOB_CAUSE_NONE);
    assert_false(rig_run(&r, a)->is_unconfirmed);
    assert_int_equal(core_next_wake(r.core), r.now_us + 60 * USEC_PER_SEC);
    r.now_us = core_next_wake(r.core);
    assert_int_equal(rig_event(&r, (struct event){.kind = EVENT_WAKE}), 0);
    assert_int_equal(rig_run(&r, a)->state, JOB_RUNNING);
    assert_int_equal(rig_run(&r, b)->state, JOB_QUEUED);
    assert_int_equal(core_next_wake(r.core), USEC_NEVER);
    rig_release(&r);
}

static void a_time_limit_counts_running_time_only(void **state)
{
    struct job_spec spec = rig_spec("long", 1, 1);
    struct rig r;
    int a;

    (void)state;
    rig_init_four(&r);
    spec.time_limit_us = USEC_PER_MIN;
    a = rig_submit(&r, spec);
    r.now_us += USEC_PER_HOUR;
    rig_plan(&r);
    rig_start_all(&r);
    assert_int_equal(core_next_wake(r.core), r.now_us + USEC_PER_MIN);
    r.now_us += USEC_PER_MIN;
    assert_int_equal(rig_event(&r, (struct event){.kind = EVENT_WAKE}), 0);
    assert_int_equal(rig_run(&r, a)->goal, JOB_FAILED);
    assert_int_equal(rig_run(&r, a)->cause, JOB_CAUSE_TIME_LIMIT);
    rig_release(&r);
}

static void r08_an_update_below_the_minimum_is_refused_at_once(void **state)
{
    struct job_spec spec = rig_spec("a", 2, 4);
    struct rig r;
    int a;

    (void)state;
    rig_init_four(&r);
    a = rig_start_one(&r, spec);
    spec.sizes = (struct size_set){.min = 0, .max = 4};
    assert_int_equal(
        rig_event(
            &r, (struct event){.kind = EVENT_UPDATE, .job = (uint32_t)a, .spec = &spec}),
        E_INVALID);
    assert_string_equal(r.err.field, "gpus");
    spec.sizes = (struct size_set){.min = 2, .max = 2};
    assert_int_equal(
        rig_event(
            &r, (struct event){.kind = EVENT_UPDATE, .job = (uint32_t)a, .spec = &spec}),
        0);
    rig_plan(&r);
    assert_int_equal(rig_run(&r, a)->state, JOB_RESIZING);
    assert_int_equal(rig_run(&r, a)->next.size, 2);
    rig_release(&r);
}

static void update_that_forbids(struct rig *r, int a, struct job_spec *spec)
{
    struct event event = {.kind = EVENT_UPDATE, .job = (uint32_t)a, .spec = spec};

    assert_int_equal(rig_event(r, event), 0);
    rig_plan(r);
    assert_int_equal(rig_run(r, a)->state, JOB_RESIZING);
    assert_non_null(strstr(rig_run(r, a)->reason, "no longer allowed"));
}

/* At once, however little the move pays: what the person forbids must not go on. */
static void an_update_that_forbids_the_batch_forces_a_move(void **state)
{
    struct job_spec spec = elastic_spec("a");
    struct rig r;
    int a;

    (void)state;
    rig_init_four(&r);
    a = submit_stated(&r, spec);
    rig_plan(&r);
    rig_start_all(&r);
    assert_int_equal(rig_run(&r, a)->plan.global_batch, 256);
    spec.batch_min = spec.batch_base = spec.batch_max = 64;
    update_that_forbids(&r, a, &spec);
    assert_int_equal(rig_run(&r, a)->next.global_batch, 64);
    rig_release(&r);
}

static void an_update_that_forbids_the_micro_batch_forces_a_move(void **state)
{
    struct job_spec spec = elastic_spec("a");
    struct rig r;
    int a;

    (void)state;
    rig_init_four(&r);
    a = submit_stated(&r, spec);
    rig_plan(&r);
    rig_start_all(&r);
    assert_int_equal(rig_run(&r, a)->plan.micro_batch, 64);
    spec.gpu_batch = 32;
    update_that_forbids(&r, a, &spec);
    assert_true(rig_run(&r, a)->next.micro_batch <= 32);
    rig_release(&r);
}

static void a_family_hands_its_measurements_to_the_next_job(void **state)
{
    struct perf_model model = {.source = MODEL_MEASURED,
                               .largest_size = 2,
                               .n_proc = 1,
                               .proc = {{64, 138000000}}};
    struct event event = {.kind = EVENT_MODEL, .model = &model};
    struct rig r;
    int a, b, c;

    (void)state;
    rig_init_four(&r);
    a = rig_start_one(&r, rig_spec("cnn-1", 1, 4));
    event.job = (uint32_t)a;
    assert_int_equal(rig_event(&r, event), 0);
    b = rig_submit(&r, rig_spec("cnn-2", 1, 4));
    c = rig_submit(&r, rig_spec("mlp-1", 1, 4));
    assert_int_equal(core_find_job(r.core, (uint32_t)b)->model.source, MODEL_FAMILY);
    assert_int_equal(core_find_job(r.core, (uint32_t)b)->model.proc[0].time_ns,
                     138000000);
    assert_int_equal(core_find_job(r.core, (uint32_t)c)->model.source, MODEL_PRIOR);
    for (int i = 0; i < PROFILES_MAX + 5; i++) { /* the oldest families are forgotten */
        struct job_spec spec = rig_spec("x", 1, 1);

        r.now_us++;
        (void)snprintf(spec.name, sizeof spec.name, "f%dx", i);
        event.job = (uint32_t)rig_submit(&r, spec);
        assert_int_equal(rig_event(&r, event), 0);
        assert_int_equal(
            rig_event(&r, (struct event){.kind = EVENT_CANCEL, .job = event.job}), 0);
    }
    assert_int_equal(core_n_profiles(r.core), PROFILES_MAX);
    assert_null(core_find_profile(r.core, 0, "cnn", ""));
    assert_non_null(core_find_profile(r.core, 0, "f1028x", ""));
    rig_release(&r);
}

/* Snapshots. */

static bool same_change(const struct change *a, const struct change *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case CHANGE_RUN:
        return a->u.run.id == b->u.run.id && a->u.run.state == b->u.run.state &&
               a->u.run.generation == b->u.run.generation &&
               a->u.run.order == b->u.run.order &&
               a->u.run.device_us == b->u.run.device_us &&
               strcmp(a->u.run.reason, b->u.run.reason) == 0;
    case CHANGE_HOLD:
        return memcmp(&a->u.hold, &b->u.hold, sizeof a->u.hold) == 0;
    case CHANGE_SPEC:
        return a->u.spec->id == b->u.spec->id &&
               strcmp(a->u.spec->name, b->u.spec->name) == 0;
    case CHANGE_NODE:
        return a->u.node.state == b->u.node.state && a->u.node.first == b->u.node.first;
    case CHANGE_GLOBALS:
        return a->u.globals.now_us == b->u.globals.now_us &&
               a->u.globals.needs_plan == b->u.globals.needs_plan;
    case CHANGE_MODEL:
        return a->u.model.job == b->u.model.job;
    case CHANGE_CONFIG:
        return strcmp(a->u.config.policy, b->u.config.policy) == 0;
    case CHANGE_PROFILE:
        return strcmp(a->u.profile->family, b->u.profile->family) == 0;
    case CHANGE_MARK:
        return a->u.mark.device == b->u.mark.device &&
               a->u.mark.state == b->u.mark.state &&
               strcmp(a->u.mark.who, b->u.mark.who) == 0;
    case CHANGE_KIND_MAX:
        break;
    }
    return false;
}

static void assert_snapshot_rebuilds(const struct core *core)
{
    struct core *copy = core_new();
    struct changes first, second;

    changes_init(&first);
    changes_init(&second);
    assert_non_null(copy);
    assert_int_equal(core_snapshot(core, &first), 0);
    for (size_t i = 0; i < first.n; i++)
        assert_int_equal(core_apply(copy, &first.items[i]), 0);
    assert_int_equal(core_check(copy, NULL), 0);
    assert_int_equal(core_snapshot(copy, &second), 0);
    assert_int_equal(first.n, second.n);
    for (size_t i = 0; i < first.n; i++)
        assert_true(same_change(&first.items[i], &second.items[i]));
    assert_int_equal(core_next_wake(core), core_next_wake(copy));
    changes_release(&first);
    changes_release(&second);
    core_free(copy);
}

/* Anything may happen. */

static int pick_job(struct rig *r, struct rng *rng)
{
    size_t n = core_n_jobs(r->core);

    if (n == 0 || rng_below(rng, 10) == 0)
        return (int)rng_below(rng, 12) + 1;
    return (int)core_job_at(r->core, rng_below(rng, n))->spec.id;
}

static void random_event(struct rig *r, struct rng *rng)
{
    static const char *const nodes[] = {"n1", "n2", "n3"};
    const char *node = nodes[rng_below(rng, 3)];
    struct event event = {.kind = (enum event_kind)rng_below(rng, EVENT_KIND_MAX),
                          .samples = (int64_t)rng_below(rng, 1000) - 1};
    struct job_spec spec = rig_spec("x", 1 + (int32_t)rng_below(rng, 3), 4);

    spec.level = rng_below(rng, 2) ? JOB_RESTARTABLE : JOB_ELASTIC;
    spec.retries = (int32_t)rng_below(rng, 3);
    spec.time_limit_us = rng_below(rng, 4) ? 0 : USEC_PER_HOUR;
    event.spec = &spec;
    event.config = *core_config(r->core);
    event.config.scaler = rng_below(rng, 2) ? CONFIG_SCALER_NONE : CONFIG_SCALER_PAYBACK;
    event.config.admission = (enum config_admission)rng_below(rng, CONFIG_ADMISSION_MAX);
    event.job = (uint32_t)pick_job(r, rng);
    event.incarnation = 1;
    if (rig_run(r, (int)event.job) && rng_below(rng, 8) != 0)
        event.incarnation = rig_run(r, (int)event.job)->incarnation;
    event.cause = (enum job_cause)(1 + rng_below(rng, JOB_CAUSE_MAX - 1));
    (void)snprintf(event.node.name, sizeof event.node.name, "%s", node);
    event.node.devices = 2;
    event.device = (int32_t)rng_below(rng, 4) - 1;
    event.device_state = (enum device_state)rng_below(rng, DEVICE_STATE_MAX);
    r->now_us += (usec_t)rng_below(rng, 20 * USEC_PER_SEC);
    (void)rig_event(r, event);
}

/* Once the world behaves, every job ends. */
static void settle(struct rig *r)
{
    static const char *const nodes[] = {"n1", "n2", "n3"};

    for (size_t i = 0; i < 3; i++) {
        rig_node(r, nodes[i], 2);
        rig_mark(r, nodes[i], 0, DEVICE_CLEAN, "");
        rig_mark(r, nodes[i], 1, DEVICE_CLEAN, "");
    }
    for (int round = 0; round < 1000 && core_n_jobs(r->core) > 0; round++) {
        usec_t wake;

        for (size_t i = core_n_jobs(r->core); i > 0; i--) {
            int id = (int)core_job_at(r->core, i - 1)->spec.id;
            enum duty_kind duty = rig_duty(r, id);

            if (rig_run(r, id)->state == JOB_PAUSED)
                (void)rig_report(r, EVENT_RESUME, id, "", JOB_CAUSE_NONE);
            else if (duty == DUTY_START)
                (void)rig_report(r, EVENT_STARTED, id, "", JOB_CAUSE_NONE);
            else if (duty == DUTY_SAVE)
                (void)rig_report(r, EVENT_SAVED, id, "", JOB_CAUSE_NONE);
            else if (duty == DUTY_STOP || duty == DUTY_GO_ON)
                for (size_t k = 0; k < 3; k++)
                    (void)rig_report(r, EVENT_EXIT, id, nodes[k],
                                     duty == DUTY_STOP ? JOB_CAUSE_STOPPED
                                                       : JOB_CAUSE_DONE);
        }
        rig_plan(r);
        wake = core_next_wake(r->core);
        if (wake != USEC_NEVER)
            r->now_us = wake > r->now_us ? wake : r->now_us;
        (void)rig_event(r, (struct event){.kind = EVENT_WAKE});
    }
}

static void whatever_happens_the_invariants_hold_and_all_jobs_end(void **state)
{
    const uint64_t seed = 20260630;

    (void)state;
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (uint64_t run = 0; run < 60; run++) {
        struct rng rng = rng_stream(seed + run, "events");
        struct rig r;

        rig_init(&r);
        for (int i = 0; i < 400; i++)
            random_event(&r, &rng);
        assert_snapshot_rebuilds(r.core);
        settle(&r);
        if (core_n_jobs(r.core) > 0)
            fail_msg("run %llu: job %u stays %s: %s", (unsigned long long)run,
                     core_job_at(r.core, 0)->spec.id,
                     job_state_name(core_job_at(r.core, 0)->run.state),
                     core_job_at(r.core, 0)->run.reason);
        rig_release(&r);
    }
}

static void core_apply_refuses_what_contradicts_the_state(void **state)
{
    struct change change = {.kind = CHANGE_RUN, .u.run = {.id = 7}};
    struct rig r;

    (void)state;
    rig_init_four(&r);
    assert_int_equal(core_apply(r.core, &change), E_CORRUPT);
    change = (struct change){.kind = CHANGE_HOLD, .u.hold = {3, 2, 1, HOLD_NOW}};
    assert_int_equal(core_apply(r.core, &change), E_CORRUPT);
    change = (struct change){.kind = CHANGE_NODE, .u.node = {.index = 0, .devices = 9}};
    assert_int_equal(core_apply(r.core, &change), E_CORRUPT);
    change = (struct change){.kind = CHANGE_KIND_MAX};
    assert_int_equal(core_apply(r.core, &change), E_CORRUPT);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_goes_from_submit_to_done),
        cmocka_unit_test(a_refused_submit_leaves_no_trace),
        cmocka_unit_test(r17_a_cluster_without_devices_lets_jobs_wait),
        cmocka_unit_test(r11_devices_change_hands_only_after_a_confirmed_exit),
        cmocka_unit_test(an_outdated_or_repeated_report_changes_nothing),
        cmocka_unit_test(r16_a_failed_save_keeps_the_devices),
        cmocka_unit_test(r13_a_job_that_ends_during_a_resize_is_done_once),
        cmocka_unit_test(a_lost_node_forces_the_survivors_to_a_smaller_size),
        cmocka_unit_test(retries_are_spent_with_growing_pauses),
        cmocka_unit_test(a_job_whose_shim_dies_at_once_does_not_spin),
        cmocka_unit_test(cancel_and_pause_work_in_every_state),
        cmocka_unit_test(r09_jobs_are_adopted_or_given_up_after_a_restart_of_the_daemon),
        cmocka_unit_test(a_time_limit_counts_running_time_only),
        cmocka_unit_test(r08_an_update_below_the_minimum_is_refused_at_once),
        cmocka_unit_test(an_update_that_forbids_the_batch_forces_a_move),
        cmocka_unit_test(an_update_that_forbids_the_micro_batch_forces_a_move),
        cmocka_unit_test(a_family_hands_its_measurements_to_the_next_job),
        cmocka_unit_test(core_apply_refuses_what_contradicts_the_state),
        cmocka_unit_test(whatever_happens_the_invariants_hold_and_all_jobs_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
