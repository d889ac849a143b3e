/* SPDX-License-Identifier: Apache-2.0 */
/* The modelled cluster against a real core, by hand; above all: that its books can
 * contradict the core's. */
#include "sim/world.h"

#include "support/rig.h"

#define DOWN_TO_US (SIM_ZERO_US + 24 * USEC_PER_HOUR)

struct pair {
    struct scenario scn;
    struct world *world;
    struct rig rig;
};

static void pair_init(struct pair *p, const char *text)
{
    struct err err = {0};

    scenario_init(&p->scn);
    if (scenario_read(&p->scn, text, strlen(text), &err) < 0)
        fail_msg("%s %s", err.field, err.text);
    p->world = world_new(&p->scn);
    assert_non_null(p->world);
    rig_init(&p->rig);
    p->rig.now_us = SIM_ZERO_US;
}

static void pair_release(struct pair *p)
{
    world_free(p->world);
    scenario_release(&p->scn);
    rig_release(&p->rig);
}

static void perform_all(struct pair *p)
{
    for (size_t i = 0; i < core_n_jobs(p->rig.core); i++) {
        const struct job *job = core_job_at(p->rig.core, i);
        struct duty duty = job_duty(job);

        world_perform(p->world, p->rig.now_us, p->rig.core, job, &duty);
    }
}

/* Lets the world go on until it reports an event of this kind to the core. */
static struct event run_until(struct pair *p, enum event_kind kind)
{
    struct event event = {0};

    do {
        assert_true(world_next(p->world) <= DOWN_TO_US);
        p->rig.now_us = i64_max(p->rig.now_us, world_next(p->world));
        if (!world_take(p->world, p->rig.now_us, &event))
            continue;
        assert_int_equal(rig_event(&p->rig, event), 0);
        perform_all(p);
    } while (event.kind != kind);
    return event;
}

/* Timers of a past state may be left; none of them may report anything. */
static void assert_silent(struct pair *p)
{
    struct event event;

    while (world_next(p->world) < USEC_NEVER)
        assert_false(world_take(p->world, world_next(p->world), &event));
}

static void submit_and_plan(struct pair *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_true(rig_submit(&p->rig, p->scn.jobs[i].spec) > 0);
    rig_plan(&p->rig);
    perform_all(p);
}

static const char *const one_job = "cluster 2 nodes x 1 gpu\n"
                                   "delays start 20s, save 5s, stop 1s, perf 0\n"
                                   "job a gpus 2 batch 128, 64 per gpu samples 100K\n";

static void world_starts_trains_and_ends_a_job(void **state)
{
    struct event event;
    struct pair p;

    (void)state;
    pair_init(&p, one_job);
    run_until(&p, EVENT_NODE_UP);
    run_until(&p, EVENT_NODE_UP);
    submit_and_plan(&p, 1);
    event = run_until(&p, EVENT_STARTED);
    assert_int_equal(event.time_us, SIM_ZERO_US + 20 * USEC_PER_SEC);
    assert_int_equal(world_check(p.world, p.rig.core, NULL), 0);
    event = run_until(&p, EVENT_EXIT);
    assert_int_equal(event.cause, JOB_CAUSE_DONE);
    assert_int_equal(event.samples, 100000);
    run_until(&p, EVENT_EXIT);
    assert_int_equal(core_n_jobs(p.rig.core), 0);
    assert_int_equal(world_check(p.world, p.rig.core, NULL), 0);
    pair_release(&p);
}

static void world_performs_a_duty_once(void **state)
{
    struct event event = {0};
    struct pair p;
    int n = 0;

    (void)state;
    pair_init(&p, one_job);
    run_until(&p, EVENT_NODE_UP);
    run_until(&p, EVENT_NODE_UP);
    submit_and_plan(&p, 1);
    perform_all(&p);
    p.rig.now_us += USEC_PER_SEC;
    perform_all(&p);
    while (world_next(p.world) <= SIM_ZERO_US + 60 * USEC_PER_SEC)
        n += world_take(p.world, world_next(p.world), &event) &&
             event.kind == EVENT_STARTED;
    assert_int_equal(n, 1);
    pair_release(&p);
}

static void world_notices_devices_that_are_given_away_too_early(void **state)
{
    struct err err = {0};
    struct pair p;

    (void)state;
    pair_init(&p, one_job);
    run_until(&p, EVENT_NODE_UP);
    run_until(&p, EVENT_NODE_UP);
    submit_and_plan(&p, 1);
    run_until(&p, EVENT_STARTED);
    /* An exit that the world knows nothing of: the core lets the device go. */
    rig_report(&p.rig, EVENT_EXIT, 1, "n1", JOB_CAUSE_DONE);
    assert_int_equal(world_check(p.world, p.rig.core, &err), E_CORRUPT);
    assert_non_null(strstr(err.text, "job 1 lives on device 0 of n1"));
    pair_release(&p);
}

static void world_loses_what_was_not_saved(void **state)
{
    struct event event;
    struct pair p;

    (void)state;
    pair_init(&p, "cluster 1 nodes x 1 gpu\n"
                  "delays perf 0\n"
                  "job a gpus 1 batch 64 work 2 gpu-hours saves 10m\n");
    run_until(&p, EVENT_NODE_UP);
    submit_and_plan(&p, 1);
    run_until(&p, EVENT_STARTED);
    p.rig.now_us += 25 * USEC_PER_MIN;
    assert_true(world_crash(p.world, p.rig.now_us, 0, 3));
    event = run_until(&p, EVENT_EXIT);
    assert_int_equal(event.cause, JOB_CAUSE_USER_ERROR);
    assert_int_equal(event.exit_code, 3);
    /* 64 samples in 74 ms, for the 20 minutes up to the last checkpoint */
    assert_in_range(event.samples, 1200 * 64000 / 74 - 1, 1200 * 64000 / 74 + 1);
    assert_false(world_crash(p.world, p.rig.now_us, 0, 3));
    pair_release(&p);
}

static void world_reports_no_exit_for_a_node_that_is_gone(void **state)
{
    struct event event = {0};
    struct pair p;

    (void)state;
    pair_init(&p, one_job);
    run_until(&p, EVENT_NODE_UP);
    run_until(&p, EVENT_NODE_UP);
    submit_and_plan(&p, 1);
    run_until(&p, EVENT_STARTED);
    assert_true(world_node_down(p.world, p.rig.now_us, 1));
    assert_false(world_node_down(p.world, p.rig.now_us, 1));
    event = run_until(&p, EVENT_NODE_LOST);
    assert_string_equal(event.node.name, "n2");
    rig_plan(&p.rig);
    perform_all(&p);
    event = run_until(&p, EVENT_EXIT);
    assert_string_equal(event.node.name, "n1");
    assert_silent(&p);
    pair_release(&p);
}

static void world_samples_follow_the_work(void **state)
{
    struct scenario scn;

    (void)state;
    scenario_init(&scn);
    assert_non_null(scenario_add_job(&scn));
    scn.jobs[0].spec.batch_min = scn.jobs[0].spec.batch_max = 64;
    (void)snprintf(scn.jobs[0].spec.name, NAME_MAX_BYTES, "a");
    scn.jobs[0].device_us = USEC_PER_HOUR;
    assert_int_equal(world_samples(&scn.jobs[0]), (int64_t)(3600 / 0.074 * 64));
    scn.jobs[0].device_us = 0;
    scn.jobs[0].spec.samples_total = 7;
    assert_int_equal(world_samples(&scn.jobs[0]), 7);
    scenario_release(&scn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(world_starts_trains_and_ends_a_job),
        cmocka_unit_test(world_performs_a_duty_once),
        cmocka_unit_test(world_notices_devices_that_are_given_away_too_early),
        cmocka_unit_test(world_loses_what_was_not_saved),
        cmocka_unit_test(world_reports_no_exit_for_a_node_that_is_gone),
        cmocka_unit_test(world_samples_follow_the_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
