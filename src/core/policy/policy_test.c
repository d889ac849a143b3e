/* SPDX-License-Identifier: Apache-2.0 */
#include "core/policy/policy.h"

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
#include "support/mem_fault.h"

#define SEED      20260104u
#define JOBS      10
#define OPTIONS   8
#define NOW_US    (1000 * USEC_PER_HOUR)
#define ANY_VALUE 1000000

/* A view with its own storage: jobs are added in the order of policy.h. */
struct world {
    struct config config;
    struct job_spec specs[JOBS];
    struct job_run runs[JOBS];
    struct row rows[JOBS];
    struct row_option options[JOBS][OPTIONS];
    struct alloc_option values[JOBS][OPTIONS];
    struct policy_job jobs[JOBS];
    struct policy_view view;
    struct policy_target targets[JOBS];
    struct alloc_result result;
};

static void world_init(struct world *w, int32_t devices, enum config_admission admission)
{
    memset(w, 0, sizeof *w);
    config_defaults(&w->config);
    w->config.admission = admission;
    w->view.config = &w->config;
    w->view.now_us = NOW_US;
    w->view.devices = devices;
    w->view.jobs = w->jobs;
}

/* Adds a job without options; its id and place are its position, counted from 1. */
static struct policy_job *world_add(struct world *w, enum policy_standing standing,
                                    int32_t held)
{
    int32_t i = w->view.n_jobs++;
    struct policy_job *job = &w->jobs[i];

    assert_true(i < JOBS);
    w->specs[i].id = (uint32_t)i + 1;
    w->specs[i].level = JOB_ELASTIC;
    w->runs[i].id = (uint32_t)i + 1;
    w->runs[i].order = i + 1;
    w->runs[i].since_us = NOW_US;
    w->runs[i].start_us = standing == POLICY_WAITING ? 0 : i + 1;
    w->rows[i].options = w->options[i];
    w->rows[i].values = w->values[i];
    *job = (struct policy_job){
        .spec = &w->specs[i],
        .run = &w->runs[i],
        .row = &w->rows[i],
        .standing = standing,
        .held = held,
        .may_be_dropped = standing == POLICY_WAITING,
    };
    return job;
}

static void world_option(struct world *w, int32_t size, int64_t value)
{
    struct row *row = &w->rows[w->view.n_jobs - 1];

    assert_true(row->n_options < OPTIONS);
    row->options[row->n_options] = (struct row_option){.size = size, .value = value};
    row->values[row->n_options++] = (struct alloc_option){size, value};
}

/* Adds a job with sizes min..max, whose value rises by one unit a device. */
static struct policy_job *world_add_range(struct world *w, enum policy_standing standing,
                                          int32_t held, int32_t min, int32_t max)
{
    struct policy_job *job = world_add(w, standing, held);

    for (int32_t k = min; k <= max; k++)
        world_option(w, k, k * (int64_t)ANY_VALUE);
    return job;
}

static void world_plan(struct world *w, const char *name)
{
    const struct policy *policy = policy_find(name);
    struct policy_scratch scratch;

    assert_non_null(policy);
    policy_scratch_init(&scratch);
    assert_int_equal(policy->plan(policy, &w->view, &scratch, w->targets, &w->result), 0);
    policy_scratch_release(&scratch);
}

static void assert_target(const struct world *w, int32_t index,
                          enum policy_verdict verdict, int32_t size, const char *reason)
{
    const struct policy_target *t = &w->targets[index];

    assert_int_equal(t->verdict, verdict);
    assert_int_equal(t->size, size);
    assert_string_equal(t->reason, reason);
}

static void policy_table_has_six_entries_with_joint_first(void **state)
{
    static const char *const names[] = {"joint",           "fixed-min",  "fixed-max",
                                        "fixed-max-accum", "fixed-base", "fifo"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_string_equal(policy_at(i)->name, names[i]);
        assert_ptr_equal(policy_find(names[i]), policy_at(i));
        assert_true(strlen(policy_at(i)->summary) > 0);
        assert_int_equal(policy_at(i)->is_rigid, i == 5);
    }
    assert_null(policy_at(ARRAY_SIZE(names)));
    assert_null(policy_find("elastic"));
}

/* Jobs A and B of seed-paper.md section 6.2, through the row builder. */
static void world_add_golden(struct world *w, bool is_b, enum policy_standing standing,
                             int32_t held, enum row_batch batch)
{
    struct policy_job *job = world_add(w, standing, held);
    struct job_spec *spec = &w->specs[w->view.n_jobs - 1];
    const struct row_rule rule = {.batch = batch};
    struct perf_model model = {
        .source = MODEL_MEASURED,
        .n_proc = 2,
        .proc = {{1, is_b ? 5500000 : 12000000}, {101, is_b ? 55500000 : 212000000}},
        .comm_form = MODEL_COMM_RING,
        .comm_bytes = is_b ? 240000000 : 100000000,
        .comm_bytes_per_sec = 1250000000,
    };
    struct row row;

    (void)job;
    spec->sizes = (struct size_set){.min = 1, .max = 4, .step = 1};
    spec->batch_min = is_b ? 16 : 32;
    spec->batch_max = 256;
    spec->batch_base = is_b ? 64 : 128;
    spec->gpu_batch = is_b ? 128 : 64;
    spec->accumulate = JOB_ACCUMULATE_NEVER;
    spec->weight_ppm = PPM;
    row_init(&row);
    assert_int_equal(row_build(&row, spec, &model, &rule, NULL), 0);
    for (int32_t i = 0; i < row.n_options; i++)
        world_option(w, row.options[i].size, row.options[i].value);
    row_release(&row);
}

static void assert_golden(enum row_batch batch, const char *policy, int32_t devices,
                          int32_t size_a, int32_t size_b, int64_t value)
{
    struct world w;

    world_init(&w, devices, CONFIG_ADMIT_QUEUE);
    world_add_golden(&w, false, POLICY_WAITING, 0, batch);
    world_add_golden(&w, true, POLICY_WAITING, 0, batch);
    world_plan(&w, policy);
    assert_int_equal(w.targets[0].size, size_a);
    assert_int_equal(w.targets[1].size, size_b);
    assert_in_range(w.result.value, value - 2, value + 2);
    assert_int_equal(w.result.used, size_a + size_b);
}

static void joint_has_the_golden_allocations_of_the_paper(void **state)
{
    (void)state;
    assert_golden(ROW_BATCH_JOINT, "joint", 1, 1, 0, 1000000);
    assert_golden(ROW_BATCH_JOINT, "joint", 2, 1, 1, 2000000);
    assert_golden(ROW_BATCH_JOINT, "joint", 3, 2, 1, 2266055);
    assert_golden(ROW_BATCH_JOINT, "joint", 4, 3, 1, 2692098);
    assert_golden(ROW_BATCH_JOINT, "joint", 5, 4, 1, 3139535);
    assert_golden(ROW_BATCH_JOINT, "joint", 6, 4, 1, 3139535);
    assert_golden(ROW_BATCH_JOINT, "joint", 8, 4, 1, 3139535);
}

static void fixed_baselines_have_the_golden_allocations_of_the_paper(void **state)
{
    (void)state;
    assert_golden(ROW_BATCH_MAX, "fixed-max", 6, 4, 2, 2668271);
    assert_golden(ROW_BATCH_MAX, "fixed-max", 5, 4, 0, 2139535);
    assert_golden(ROW_BATCH_BASE, "fixed-base", 3, 2, 1, 2198487);
    assert_golden(ROW_BATCH_BASE, "fixed-base", 5, 4, 1, 2355113);
    assert_golden(ROW_BATCH_MIN, "fixed-min", 2, 1, 1, 1595894);
    assert_golden(ROW_BATCH_MIN, "fixed-min", 8, 1, 1, 1595894);
}

static void joint_queues_and_grows_as_in_the_scenario_of_the_paper(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 2, CONFIG_ADMIT_QUEUE);
    world_add_golden(&w, false, POLICY_WAITING, 0, ROW_BATCH_JOINT);
    world_add_golden(&w, true, POLICY_WAITING, 0, ROW_BATCH_JOINT);
    world_add_golden(&w, false, POLICY_WAITING, 0, ROW_BATCH_JOINT);
    world_plan(&w, "joint");
    assert_target(&w, 0, POLICY_SIZE, 1, "");
    assert_target(&w, 1, POLICY_SIZE, 1, "");
    assert_target(&w, 2, POLICY_WAIT, 0, "needs 1 gpu, 0 can be freed");

    world_init(&w, 2, CONFIG_ADMIT_QUEUE); /* B has ended */
    world_add_golden(&w, false, POLICY_RUNNING, 1, ROW_BATCH_JOINT);
    world_add_golden(&w, false, POLICY_WAITING, 0, ROW_BATCH_JOINT);
    world_plan(&w, "joint");
    assert_target(&w, 0, POLICY_SIZE, 1, "");
    assert_target(&w, 1, POLICY_SIZE, 1, "");
    assert_int_equal(w.result.value, 2000000);

    world_init(&w, 2, CONFIG_ADMIT_QUEUE); /* A has ended */
    world_add_golden(&w, false, POLICY_RUNNING, 1, ROW_BATCH_JOINT);
    world_plan(&w, "joint");
    assert_target(&w, 0, POLICY_SIZE, 2, "");
}

static void joint_drops_and_grows_as_in_the_scenario_of_the_paper(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 2, CONFIG_ADMIT_DROP);
    world_add_golden(&w, false, POLICY_WAITING, 0, ROW_BATCH_JOINT);
    world_add_golden(&w, true, POLICY_WAITING, 0, ROW_BATCH_JOINT);
    world_add_golden(&w, false, POLICY_WAITING, 0, ROW_BATCH_JOINT);
    world_plan(&w, "joint");
    assert_target(&w, 0, POLICY_SIZE, 1, "");
    assert_target(&w, 1, POLICY_SIZE, 1, "");
    assert_target(&w, 2, POLICY_DROP, 0, "needs 1 gpu, 0 can be freed");

    world_init(&w, 2, CONFIG_ADMIT_DROP); /* B has ended */
    world_add_golden(&w, false, POLICY_RUNNING, 1, ROW_BATCH_JOINT);
    world_plan(&w, "joint");
    assert_target(&w, 0, POLICY_SIZE, 2, "");
    assert_in_range(w.result.value, 1266053, 1266057);
}

static void plan_queue(struct world *w, enum config_admission admission)
{
    world_init(w, 3, admission);
    world_add_golden(w, false, POLICY_WAITING, 0, ROW_BATCH_JOINT);
    world_add_range(w, POLICY_WAITING, 0, 3, 4);
    world_add_golden(w, true, POLICY_WAITING, 0, ROW_BATCH_JOINT);
    world_plan(w, "joint");
}

static void joint_lets_others_pass_in_skip_but_not_in_queue(void **state)
{
    struct world w;

    (void)state;
    plan_queue(&w, CONFIG_ADMIT_QUEUE);
    assert_target(&w, 0, POLICY_SIZE, 3, "");
    assert_target(&w, 1, POLICY_WAIT, 0, "needs 3 gpus, 2 can be freed");
    assert_target(&w, 2, POLICY_WAIT, 0, "stands in the queue behind jobs that go first");
    plan_queue(&w, CONFIG_ADMIT_SKIP);
    assert_target(&w, 0, POLICY_SIZE, 2, "");
    assert_target(&w, 1, POLICY_WAIT, 0, "needs 3 gpus, 2 can be freed");
    assert_target(&w, 2, POLICY_SIZE, 1, "");
}

static void joint_drops_only_what_never_ran(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 2, CONFIG_ADMIT_DROP);
    world_add_range(&w, POLICY_RUNNING, 2, 2, 2);
    world_add_range(&w, POLICY_WAITING, 0, 1, 2)->may_be_dropped = false;
    world_add_range(&w, POLICY_WAITING, 0, 1, 2);
    world_add_range(&w, POLICY_WAITING, 0, 5, 5)->may_be_dropped = false;
    world_add_range(&w, POLICY_WAITING, 0, 5, 5);
    world_plan(&w, "joint");
    assert_target(&w, 1, POLICY_WAIT, 0, "needs 1 gpu, 0 can be freed");
    assert_target(&w, 2, POLICY_DROP, 0, "needs 1 gpu, 0 can be freed");
    assert_target(&w, 3, POLICY_BLOCKED, 0, "needs 5 gpus, only 2 are up now");
    assert_target(&w, 4, POLICY_DROP, 0, "needs 5 gpus, only 2 are up now");
}

static void joint_reserves_for_a_job_that_waited_for_long(void **state)
{
    struct world w;

    (void)state;
    for (int32_t min = 3; min <= 4; min++) { /* 3 does not fit now, 4 never */
        world_init(&w, 3, CONFIG_ADMIT_SKIP);
        world_add_range(&w, POLICY_RUNNING, 1, 1, 1);
        world_add_range(&w, POLICY_WAITING, 0, min, 4);
        world_add_range(&w, POLICY_WAITING, 0, 1, 1);
        w.runs[1].since_us = NOW_US - 24 * USEC_PER_HOUR + 1;
        world_plan(&w, "joint");
        assert_target(&w, 2, POLICY_SIZE, 1, "");
        w.runs[1].since_us -= 1;
        world_plan(&w, "joint");
        assert_target(&w, 2, POLICY_WAIT, 0,
                      "stands in the queue behind jobs that go first");
    }
}

static void joint_leaves_a_job_alone_until_its_next_attempt(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 2, CONFIG_ADMIT_QUEUE);
    world_add_range(&w, POLICY_WAITING, 0, 2, 2);
    world_add_range(&w, POLICY_WAITING, 0, 1, 2);
    w.runs[0].retry_us = NOW_US + 1;
    world_plan(&w, "joint");
    assert_target(&w, 0, POLICY_WAIT, 0, "waits for its next attempt");
    assert_target(&w, 1, POLICY_SIZE, 2, "");
    w.runs[0].retry_us = NOW_US;
    world_plan(&w, "joint");
    assert_target(&w, 0, POLICY_SIZE, 2, "");
}

static void joint_makes_the_youngest_yield_when_capacity_shrinks(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 5, CONFIG_ADMIT_QUEUE);
    for (int i = 0; i < 4; i++)
        world_add_range(&w, POLICY_RUNNING, 2, 2, 4);
    world_add_range(&w, POLICY_WAITING, 0, 1, 4);
    w.runs[0].start_us = 900; /* the youngest by start */
    w.runs[1].start_us = 0;   /* never up: younger still */
    world_plan(&w, "joint");
    assert_target(&w, 0, POLICY_YIELD, 0, "gave way: needs 2 gpus, older jobs leave 1");
    assert_target(&w, 1, POLICY_YIELD, 0, "gave way: needs 2 gpus, older jobs leave 1");
    assert_int_equal(w.targets[2].size + w.targets[3].size, 5);
    assert_target(&w, 4, POLICY_WAIT, 0, "stands in the queue behind jobs that go first");
}

static void joint_stops_nobody_for_a_job_that_has_to_go_anyway(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 3, CONFIG_ADMIT_QUEUE);
    world_add_range(&w, POLICY_RUNNING, 1, 1, 1);
    world_add_range(&w, POLICY_RUNNING, 6, 6, 6);
    world_add_range(&w, POLICY_RUNNING, 2, 2, 2);
    world_plan(&w, "joint");
    assert_target(&w, 0, POLICY_SIZE, 1, "");
    assert_target(&w, 1, POLICY_YIELD, 0, "gave way: needs 6 gpus, older jobs leave 2");
    assert_target(&w, 2, POLICY_SIZE, 2, "");
}

static void joint_leaves_pinned_and_rigid_jobs_as_they_are(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 8, CONFIG_ADMIT_QUEUE);
    world_add_range(&w, POLICY_PINNED, 2, 1, 4);
    world_add_range(&w, POLICY_RUNNING, 3, 1, 4);
    world_add(&w, POLICY_RUNNING, 1); /* its row is empty */
    world_add(&w, POLICY_PINNED, 0);  /* holds nothing any more */
    world_add_range(&w, POLICY_RUNNING, 1, 1, 8);
    w.specs[1].level = JOB_RIGID;
    world_plan(&w, "joint");
    assert_target(&w, 0, POLICY_SIZE, 2, "");
    assert_target(&w, 1, POLICY_SIZE, 3, "");
    assert_target(&w, 2, POLICY_SIZE, 1, "");
    assert_target(&w, 3, POLICY_SIZE, 0, "");
    assert_target(&w, 4, POLICY_SIZE, 2, "");
    assert_int_equal(w.result.value, 7 * ANY_VALUE);
}

static void joint_survives_pinned_jobs_beyond_the_capacity(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 3, CONFIG_ADMIT_QUEUE);
    world_add_range(&w, POLICY_PINNED, 4, 1, 4);
    world_add_range(&w, POLICY_RUNNING, 1, 1, 4);
    world_add_range(&w, POLICY_WAITING, 0, 1, 4);
    world_plan(&w, "joint");
    assert_target(&w, 0, POLICY_SIZE, 4, "");
    assert_target(&w, 1, POLICY_YIELD, 0, "gave way: needs 1 gpu, older jobs leave 0");
    assert_int_equal(w.targets[2].verdict, POLICY_WAIT);
}

static void r17_policies_take_a_cluster_without_devices(void **state)
{
    struct world w;

    (void)state;
    for (size_t i = 0; policy_at(i); i++) {
        world_init(&w, 0, CONFIG_ADMIT_QUEUE);
        world_plan(&w, policy_at(i)->name); /* no jobs either */
        assert_int_equal(w.result.value, 0);
        assert_true(w.result.is_certified);
        world_add_range(&w, POLICY_RUNNING, 1, 1, 4);
        world_add_range(&w, POLICY_WAITING, 0, 1, 4);
        world_add(&w, POLICY_WAITING, 0);
        world_plan(&w, policy_at(i)->name);
        assert_int_equal(w.targets[0].verdict, POLICY_YIELD);
        assert_target(&w, 1, POLICY_BLOCKED, 0, "needs 1 gpu, only 0 are up now");
        assert_int_equal(w.targets[2].verdict, POLICY_BLOCKED);
        assert_int_equal(w.result.used, 0);
    }
}

static void r17_joint_serves_jobs_with_gaps_and_minima_above_one(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 7, CONFIG_ADMIT_QUEUE);
    world_add(&w, POLICY_RUNNING, 8); /* held size is gone, 4 and 8 are allowed */
    world_option(&w, 4, 4000000);
    world_option(&w, 8, 8000000);
    world_add_range(&w, POLICY_WAITING, 0, 2, 3);
    world_add(&w, POLICY_WAITING, 0);
    world_option(&w, 2, 100);
    world_plan(&w, "joint");
    assert_target(&w, 0, POLICY_SIZE, 4, "");
    assert_target(&w, 1, POLICY_SIZE, 3, "");
    assert_target(&w, 2, POLICY_WAIT, 0, "needs 2 gpus, 1 can be freed");
}

static void fifo_gives_the_largest_size_once_and_for_all(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 6, CONFIG_ADMIT_QUEUE);
    world_add_range(&w, POLICY_RUNNING, 1, 1, 4);
    world_add_range(&w, POLICY_WAITING, 0, 7, 8);
    world_add_range(&w, POLICY_WAITING, 0, 1, 4);
    world_add_range(&w, POLICY_WAITING, 0, 1, 8);
    world_add_range(&w, POLICY_WAITING, 0, 1, 1);
    world_plan(&w, "fifo");
    assert_target(&w, 0, POLICY_SIZE, 1, "");
    assert_target(&w, 1, POLICY_BLOCKED, 0, "needs 7 gpus, only 6 are up now");
    assert_target(&w, 2, POLICY_SIZE, 4, "");
    assert_target(&w, 3, POLICY_WAIT, 0, "needs 6 gpus, 1 is free");
    assert_target(&w, 4, POLICY_WAIT, 0, "stands in the queue behind jobs that go first");
    w.config.admission = CONFIG_ADMIT_SKIP;
    world_plan(&w, "fifo");
    assert_target(&w, 4, POLICY_SIZE, 1, "");
}

static void policies_survive_failing_allocations(void **state)
{
    const struct policy *joint = policy_find("joint");
    struct policy_scratch scratch;
    struct world w;

    (void)state;
    world_init(&w, 4, CONFIG_ADMIT_QUEUE);
    world_add_range(&w, POLICY_RUNNING, 1, 1, 4);
    world_add_range(&w, POLICY_WAITING, 0, 1, 4);
    for (uint64_t nth = 1;; nth++) {
        int rc;

        policy_scratch_init(&scratch);
        mem_fault_arm(nth);
        rc = joint->plan(joint, &w.view, &scratch, w.targets, &w.result);
        policy_scratch_release(&scratch);
        if (!mem_fault_disarm())
            break;
        assert_int_equal(rc, E_NOMEM);
    }
    assert_int_equal(w.result.used, 4);
    assert_int_equal(mem_fault_blocks(), 0);
}

/* Random views. */

static void world_add_random(struct world *w, struct rng *rng,
                             enum policy_standing standing)
{
    int32_t size = 0;
    struct policy_job *job = world_add(w, standing, 0);
    int64_t n = rng_between(rng, 0, 4);

    for (int64_t i = 0; i < n; i++) {
        size += (int32_t)rng_between(rng, 1, 4);
        world_option(w, size, rng_between(rng, 0, 5) * 500000);
    }
    if (standing != POLICY_WAITING)
        job->held = (int32_t)rng_between(rng, 1, 5);
    w->runs[w->view.n_jobs - 1].start_us = rng_between(rng, 0, 3);
    job->may_be_dropped = standing == POLICY_WAITING && rng_below(rng, 2) == 0;
    w->runs[w->view.n_jobs - 1].since_us -= rng_between(rng, 0, 5) * 6 * USEC_PER_HOUR;
}

static void world_random(struct world *w, struct rng *rng)
{
    int64_t n_held = rng_between(rng, 0, 4), n_waiting = rng_between(rng, 0, 5);

    world_init(w, (int32_t)rng_between(rng, 0, 16),
               (enum config_admission)rng_below(rng, CONFIG_ADMISSION_MAX));
    for (int64_t i = 0; i < n_held; i++)
        world_add_random(w, rng, rng_below(rng, 4) == 0 ? POLICY_PINNED : POLICY_RUNNING);
    for (int64_t i = 0; i < n_waiting; i++)
        world_add_random(w, rng, POLICY_WAITING);
}

static void assert_targets_are_legal(const struct world *w)
{
    int64_t sum = 0, pinned = 0;

    for (int32_t i = 0; i < w->view.n_jobs; i++) {
        const struct policy_job *job = &w->jobs[i];
        const struct policy_target *t = &w->targets[i];

        assert_int_equal(t->verdict == POLICY_SIZE, t->size > 0);
        assert_int_equal(t->verdict == POLICY_SIZE, t->reason[0] == '\0');
        assert_true(t->verdict != POLICY_YIELD || job->standing == POLICY_RUNNING);
        if (job->standing == POLICY_WAITING)
            assert_true(t->size == 0 || row_find(job->row, t->size) != NULL);
        else
            assert_true(t->verdict == POLICY_SIZE || t->verdict == POLICY_YIELD);
        if (job->standing == POLICY_RUNNING && t->size > 0)
            assert_true(row_find(job->row, t->size) != NULL || t->size == job->held);
        if (job->standing == POLICY_PINNED)
            assert_int_equal(t->size, job->held);
        if (t->verdict == POLICY_DROP) {
            assert_int_equal(w->config.admission, CONFIG_ADMIT_DROP);
            assert_true(job->may_be_dropped);
        }
        sum += t->size;
        pinned += job->standing == POLICY_PINNED ? job->held : 0;
    }
    assert_int_equal(sum, w->result.used);
    assert_true(sum <= i64_max(w->view.devices, pinned));
}

/* In `queue` nobody starts behind a job that waits and could start in an empty cluster.
 */
static void assert_nobody_overtakes(const struct world *w)
{
    bool is_stopped = false;

    if (w->config.admission != CONFIG_ADMIT_QUEUE)
        return;
    for (int32_t i = 0; i < w->view.n_jobs; i++) {
        if (w->jobs[i].standing != POLICY_WAITING)
            continue;
        assert_false(is_stopped && w->targets[i].verdict == POLICY_SIZE);
        is_stopped = is_stopped || w->targets[i].verdict == POLICY_WAIT;
    }
}

/* The best value for those in the plan, from job i on, with so many devices. */
static int64_t best_by_force(const struct world *w, int32_t i, int64_t devices)
{
    const struct policy_job *job = &w->jobs[i];
    const struct row_option *held;
    int64_t best = INT64_MIN;

    if (devices < 0)
        return INT64_MIN;
    if (i == w->view.n_jobs)
        return 0;
    if (w->targets[i].verdict != POLICY_SIZE)
        return best_by_force(w, i + 1, devices);
    held = row_find(job->row, job->held);
    if (job->standing == POLICY_PINNED || job->row->n_options == 0) {
        best = best_by_force(w, i + 1, devices - job->held);
        return best == INT64_MIN ? best : best + (held ? held->value : 0);
    }
    for (int32_t o = 0; o < job->row->n_options; o++) {
        const struct row_option *option = &job->row->options[o];
        int64_t rest = best_by_force(w, i + 1, devices - option->size);

        if (rest != INT64_MIN && rest + option->value > best)
            best = rest + option->value;
    }
    return best;
}

static void assert_value_is_the_best(const struct world *w)
{
    int64_t pinned = 0;

    for (int32_t i = 0; i < w->view.n_jobs; i++)
        pinned += w->jobs[i].standing == POLICY_PINNED ? w->jobs[i].held : 0;
    assert_int_equal(w->result.value,
                     best_by_force(w, 0, i64_max(w->view.devices, pinned)));
}

static void policies_keep_their_promises_on_random_views(void **state)
{
    struct rng rng = rng_stream(SEED, "views");
    struct world w;

    (void)state;
    print_message("# seed %u\n", SEED);
    for (int round = 0; round < 3000; round++) {
        world_random(&w, &rng);
        for (size_t i = 0; policy_at(i); i++) {
            world_plan(&w, policy_at(i)->name);
            assert_targets_are_legal(&w);
            assert_nobody_overtakes(&w);
            if (!policy_at(i)->is_rigid)
                assert_value_is_the_best(&w);
        }
    }
}

/* The oldest running job that is not marked yet, or -1. */
static int32_t oldest_unmarked(const struct world *w, const bool *marked)
{
    int32_t oldest = -1;

    for (int32_t i = 0; i < w->view.n_jobs; i++) {
        usec_t start = w->runs[i].start_us > 0 ? w->runs[i].start_us : USEC_NEVER;
        usec_t least = USEC_NEVER;

        if (w->jobs[i].standing != POLICY_RUNNING || marked[i])
            continue;
        if (oldest >= 0 && w->runs[oldest].start_us > 0)
            least = w->runs[oldest].start_us;
        if (oldest < 0 || start < least)
            oldest = i;
    }
    return oldest;
}

static void joint_serves_running_jobs_by_age(void **state)
{
    struct rng rng = rng_stream(SEED, "age");
    struct world w;

    (void)state;
    print_message("# seed %u\n", SEED);
    for (int round = 0; round < 2000; round++) {
        bool marked[JOBS] = {false};
        int64_t left = rng_between(&rng, 0, 20);

        world_init(&w, (int32_t)left, CONFIG_ADMIT_QUEUE);
        for (int i = 0; i < JOBS; i++)
            world_add_random(&w, &rng, POLICY_RUNNING);
        world_plan(&w, "joint");
        for (int32_t i = oldest_unmarked(&w, marked); i >= 0;
             i = oldest_unmarked(&w, marked)) {
            const struct row *row = &w.rows[i];
            int32_t need = row->n_options > 0 ? row_min_size(row) : w.jobs[i].held;

            assert_int_equal(w.targets[i].verdict == POLICY_SIZE, need <= left);
            left -= need <= left ? need : 0;
            marked[i] = true;
        }
    }
}

/* A running job yields, and a waiting one waits, only when it does not fit. */
static void joint_refuses_only_what_does_not_fit(void **state)
{
    struct rng rng = rng_stream(SEED, "refuse");
    struct world w;

    (void)state;
    print_message("# seed %u\n", SEED);
    for (int round = 0; round < 3000; round++) {
        int64_t needs = 0;

        world_random(&w, &rng);
        w.config.reserve_us = 366 * USEC_PER_DAY;
        world_plan(&w, "joint");
        for (int32_t i = 0; i < w.view.n_jobs; i++)
            if (w.targets[i].verdict == POLICY_SIZE) {
                const struct policy_job *job = &w.jobs[i];
                bool is_kept = job->standing == POLICY_PINNED || job->row->n_options == 0;

                needs += is_kept ? job->held : row_min_size(job->row);
            }
        for (int32_t i = 0; i < w.view.n_jobs; i++) {
            int32_t least = row_min_size(w.jobs[i].row);
            enum policy_verdict verdict = w.targets[i].verdict;
            bool is_behind = strstr(w.targets[i].reason, "behind") != NULL;

            if (verdict != POLICY_SIZE && !is_behind && least > 0)
                assert_true(needs + least > w.view.devices);
            if (verdict == POLICY_BLOCKED)
                assert_true(least == 0 || least > w.view.devices);
        }
    }
}

/* The two jobs of `without`, and between them a job that cannot be served: a giant, or
 * one with an empty row. */
static void world_add_blocked(struct world *with, const struct world *without,
                              bool is_giant)
{
    for (int32_t i = 0; i < 2; i++) {
        int32_t at = 2 * i;

        world_add(with, without->jobs[i].standing, without->jobs[i].held)
            ->may_be_dropped = without->jobs[i].may_be_dropped;
        with->runs[at] = without->runs[i];
        with->rows[at] = without->rows[i];
        if (i == 0)
            world_add(with, POLICY_WAITING, 0);
        if (i == 0 && is_giant)
            world_option(with, without->view.devices + 1, VALUE_MAX);
    }
}

/* R17: a job that cannot be served changes nothing for the others. */
static void r17_policies_plan_as_if_a_blocked_job_were_not_there(void **state)
{
    struct rng rng = rng_stream(SEED, "blocked");
    struct world with, without;

    (void)state;
    print_message("# seed %u\n", SEED);
    for (int round = 0; round < 1500; round++) {
        const char *name = policy_at((size_t)rng_below(&rng, 6))->name;

        world_init(&without, (int32_t)rng_between(&rng, 0, 16),
                   (enum config_admission)rng_below(&rng, CONFIG_ADMISSION_MAX));
        world_add_random(&without, &rng, POLICY_RUNNING);
        world_add_random(&without, &rng, POLICY_WAITING);
        world_init(&with, without.view.devices, without.config.admission);
        with.config.reserve_us = without.config.reserve_us = 366 * USEC_PER_DAY;
        world_add_blocked(&with, &without, rng_below(&rng, 2) == 0);
        world_plan(&without, name);
        world_plan(&with, name);
        assert_int_equal(with.targets[0].size, without.targets[0].size);
        assert_int_equal(with.targets[2].size, without.targets[1].size);
        assert_int_equal(with.targets[2].verdict, without.targets[1].verdict);
        assert_int_equal(with.targets[1].size, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policy_table_has_six_entries_with_joint_first),
        cmocka_unit_test(joint_has_the_golden_allocations_of_the_paper),
        cmocka_unit_test(fixed_baselines_have_the_golden_allocations_of_the_paper),
        cmocka_unit_test(joint_queues_and_grows_as_in_the_scenario_of_the_paper),
        cmocka_unit_test(joint_drops_and_grows_as_in_the_scenario_of_the_paper),
        cmocka_unit_test(joint_lets_others_pass_in_skip_but_not_in_queue),
        cmocka_unit_test(joint_drops_only_what_never_ran),
        cmocka_unit_test(joint_reserves_for_a_job_that_waited_for_long),
        cmocka_unit_test(joint_leaves_a_job_alone_until_its_next_attempt),
        cmocka_unit_test(joint_makes_the_youngest_yield_when_capacity_shrinks),
        cmocka_unit_test(joint_stops_nobody_for_a_job_that_has_to_go_anyway),
        cmocka_unit_test(joint_leaves_pinned_and_rigid_jobs_as_they_are),
        cmocka_unit_test(joint_survives_pinned_jobs_beyond_the_capacity),
        cmocka_unit_test(r17_policies_take_a_cluster_without_devices),
        cmocka_unit_test(r17_joint_serves_jobs_with_gaps_and_minima_above_one),
        cmocka_unit_test(fifo_gives_the_largest_size_once_and_for_all),
        cmocka_unit_test(policies_survive_failing_allocations),
        cmocka_unit_test(policies_keep_their_promises_on_random_views),
        cmocka_unit_test(joint_serves_running_jobs_by_age),
        cmocka_unit_test(joint_refuses_only_what_does_not_fit),
        cmocka_unit_test(r17_policies_plan_as_if_a_blocked_job_were_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
