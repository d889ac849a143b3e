/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/units.h"
#include "engine/engine_testing.h"
#include "support/mem_fault.h"
#include "wire/journal.h"

#define SEEN_MAX 64

/* What left the engine, in order. */
struct seen {
    char what[16]; /* "answer", "forget", or the name of a duty */
    uint32_t job;
    int rc;
};

struct bench {
    struct journal journal;
    struct engine *engine;
    struct seen seen[SEEN_MAX];
    size_t n_seen;
    size_t n_changes;
    size_t n_steps;
    struct err err; /* of the newest answer */
    bool commits_at_once;
};

static void see(struct bench *b, const char *what, uint32_t job, int rc)
{
    struct seen *s = &b->seen[b->n_seen++ % SEEN_MAX];

    *s = (struct seen){.job = job, .rc = rc};
    (void)snprintf(s->what, sizeof s->what, "%s", what);
}

static void on_answer(void *arg, int rc, const struct err *err, uint32_t job)
{
    struct bench *b = arg;

    assert_non_null(err);
    b->err = *err;
    see(b, "answer", job, rc);
}

static void on_perform(void *ctx, const struct core *core, const struct job *job,
                       const struct duty *duty)
{
    assert_ptr_equal(core_find_job(core, duty->job), job);
    see(ctx, duty_kind_name(duty->kind), duty->job, 0);
}

static void on_forget(void *ctx, uint32_t job)
{
    see(ctx, "forget", job, 0);
}

static void on_change(void *ctx, const struct core *before, const struct event *event,
                      const struct change *change)
{
    struct bench *b = ctx;

    assert_non_null(before);
    assert_non_null(event);
    assert_non_null(change);
    b->n_changes++;
}

static void on_step(void *ctx, const struct core *after, const struct event *event)
{
    struct bench *b = ctx;

    assert_non_null(after);
    assert_non_null(event);
    b->n_steps++;
}

static int append_at_once(void *ctx, const struct engine_row *row)
{
    struct bench *b = ctx;
    int rc = journal_port(&b->journal).append(&b->journal, row);

    if (rc == 0)
        journal_commit_all(&b->journal, b->engine);
    return rc;
}

static void bench_start(struct bench *b)
{
    struct engine_ports ports = {
        .store = journal_port(&b->journal),
        .backend = {.ctx = b, .perform = on_perform, .forget = on_forget},
        .watch = {.ctx = b, .change = on_change, .step = on_step},
    };

    if (b->commits_at_once)
        ports.store = (struct engine_store_port){.ctx = b, .append = append_at_once};
    b->engine = engine_new(&ports);
    assert_non_null(b->engine);
}

static void post(struct bench *b, struct event event)
{
    assert_int_equal(engine_post(b->engine, &event, on_answer, b), 0);
}

static void run(struct bench *b, usec_t now_us)
{
    assert_true(engine_run(b->engine, now_us) >= 0);
}

static struct job_spec spec_of(const char *name, int32_t min, int32_t max)
{
    struct job_spec spec = {
        .level = min == max ? JOB_RIGID : JOB_ELASTIC,
        .sizes = {.min = min, .max = max},
        .launch = (char *)"{\"command\":[\"train\"]}",
    };

    (void)snprintf(spec.name, sizeof spec.name, "%s", name);
    return spec;
}

static void post_submit(struct bench *b, const char *name, int32_t min, int32_t max)
{
    struct job_spec spec = spec_of(name, min, max);

    post(b, (struct event){.kind = EVENT_SUBMIT, .spec = &spec});
    memset(&spec, 0xee, sizeof spec); /* the engine has a copy */
}

static void post_report(struct bench *b, enum event_kind kind, uint32_t job,
                        uint32_t incarnation)
{
    struct event event = {.kind = kind,
                          .job = job,
                          .incarnation = incarnation,
                          .cause = JOB_CAUSE_STOPPED,
                          .samples = -1,
                          .node.name = "n1"};

    post(b, event);
}

/* A node of four devices, known and durable; nothing seen. */
static void bench_init(struct bench *b)
{
    struct event node = {.kind = EVENT_NODE_UP, .node = {.devices = 4, .name = "n1"}};

    bench_start(b);
    engine_begin(b->engine);
    assert_int_equal(engine_post(b->engine, &node, NULL, NULL), 0);
    run(b, USEC_PER_SEC);
    journal_commit_all(&b->journal, b->engine);
    b->n_seen = 0;
}

static void bench_release(struct bench *b)
{
    engine_free(b->engine);
    journal_release(&b->journal);
}

static void assert_seen(struct bench *b, size_t i, const char *what, uint32_t job)
{
    assert_true(i < b->n_seen);
    assert_string_equal(b->seen[i].what, what);
    assert_int_equal(b->seen[i].job, job);
}

static void nothing_leaves_before_its_row_is_durable(void **state)
{
    struct bench b = {0};
    size_t before;

    (void)state;
    bench_init(&b);
    before = b.journal.n;
    post_submit(&b, "a", 1, 2);
    assert_int_equal(b.n_seen, 0);
    run(&b, 2 * USEC_PER_SEC);
    assert_int_equal(b.journal.n, before + 2); /* the submit and the plan */
    assert_int_equal(core_n_jobs(engine_core(b.engine)), 1);
    assert_int_equal(b.n_seen, 0);
    journal_commit(&b.journal, b.engine, 1);
    assert_int_equal(b.n_seen, 1);
    assert_seen(&b, 0, "answer", 1);
    assert_int_equal(b.seen[0].rc, 0);
    journal_commit(&b.journal, b.engine, 1);
    assert_int_equal(b.n_seen, 2);
    assert_seen(&b, 1, "start", 1);
    journal_commit(&b.journal, b.engine, 1);
    assert_int_equal(b.n_seen, 2);
    bench_release(&b);
}

static void one_commit_serves_a_group_in_order_duties_first(void **state)
{
    struct bench b = {0};

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 1, 1);
    post_submit(&b, "b", 1, 1);
    run(&b, 2 * USEC_PER_SEC);
    journal_commit_all(&b.journal, b.engine);
    assert_int_equal(b.n_seen, 4);
    assert_seen(&b, 0, "start", 1);
    assert_seen(&b, 1, "start", 2);
    assert_seen(&b, 2, "answer", 1);
    assert_seen(&b, 3, "answer", 2);
    bench_release(&b);
}

static void a_refusal_is_answered_in_the_run_and_makes_no_row(void **state)
{
    struct bench b = {0};
    size_t before;

    (void)state;
    bench_init(&b);
    before = b.journal.n;
    post_submit(&b, "big", 5, 5);
    assert_int_equal(b.n_seen, 0); /* never from within engine_post() */
    run(&b, 2 * USEC_PER_SEC);
    assert_int_equal(b.n_seen, 1);
    assert_seen(&b, 0, "answer", 0);
    assert_int_equal(b.seen[0].rc, E_INFEASIBLE);
    assert_string_equal(b.err.field, "gpus");
    assert_int_equal(b.journal.n, before);
    bench_release(&b);
}

static void an_answer_without_a_row_waits_for_the_rows_before_it(void **state)
{
    struct bench b = {0};
    size_t rows;

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 1, 1);
    post_report(&b, EVENT_STARTED, 1, 77); /* of an incarnation that is not the job's */
    run(&b, 2 * USEC_PER_SEC);
    rows = b.journal.n;
    assert_int_equal(b.n_seen, 0);
    journal_commit(&b.journal, b.engine, 1);
    assert_int_equal(b.n_seen, 2);
    assert_seen(&b, 1, "answer", 0);
    assert_int_equal(b.seen[1].rc, 0);
    journal_commit_all(&b.journal, b.engine);
    post_report(&b, EVENT_STARTED, 1, 77);
    run(&b, 3 * USEC_PER_SEC);
    assert_int_equal(b.journal.n, rows);
    assert_seen(&b, 3, "answer", 0); /* nothing to wait for: at once */
    bench_release(&b);
}

static void a_store_that_answers_at_once_is_served_after_the_step(void **state)
{
    struct bench b = {.commits_at_once = true};

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 1, 1);
    run(&b, 2 * USEC_PER_SEC);
    assert_int_equal(b.n_seen, 2);
    assert_seen(&b, 0, "start", 1);
    assert_seen(&b, 1, "answer", 1);
    bench_release(&b);
}

static void a_duty_that_the_job_has_left_behind_is_dropped(void **state)
{
    struct bench b = {0};
    size_t plan;

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 1, 1);
    run(&b, 2 * USEC_PER_SEC);
    plan = b.journal.n;
    post(&b, (struct event){.kind = EVENT_CANCEL, .job = 1, .text = "by its owner"});
    run(&b, 3 * USEC_PER_SEC);
    journal_commit(&b.journal, b.engine, plan - b.journal.durable);
    assert_int_equal(b.n_seen, 1); /* the answer to the submit, and no start */
    journal_commit_all(&b.journal, b.engine);
    assert_seen(&b, 1, "stop", 1);
    assert_seen(&b, 2, "answer", 0);
    assert_int_equal(b.n_seen, 3);
    post_report(&b, EVENT_EXIT, 1, 1);
    run(&b, 4 * USEC_PER_SEC);
    assert_int_equal(core_n_jobs(engine_core(b.engine)), 0);
    assert_int_equal(b.n_seen, 3);
    journal_commit_all(&b.journal, b.engine);
    assert_seen(&b, 3, "forget", 1);
    bench_release(&b);
}

static void a_start_whose_devices_were_lost_is_never_performed(void **state)
{
    struct bench b = {0};
    size_t plan;

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 1, 1);
    run(&b, 2 * USEC_PER_SEC);
    plan = b.journal.n;
    post(&b, (struct event){.kind = EVENT_NODE_LOST, .node.name = "n1"});
    run(&b, 3 * USEC_PER_SEC);
    assert_int_equal(core_find_job(engine_core(b.engine), 1)->run.state, JOB_QUEUED);
    journal_commit(&b.journal, b.engine, plan - b.journal.durable);
    journal_commit_all(&b.journal, b.engine);
    for (size_t i = 0; i < b.n_seen; i++)
        assert_string_equal(b.seen[i].what, "answer");
    bench_release(&b);
}

/* The second update changes nothing of the duty's record, but the spec that a start
 * uses. */
static void a_pending_start_waits_for_the_newest_spec(void **state)
{
    struct job_spec spec = spec_of("a", 1, 1);
    struct event update = {.kind = EVENT_UPDATE, .job = 1, .spec = &spec};
    struct bench b = {0};
    size_t rows[2];

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 1, 1);
    run(&b, 2 * USEC_PER_SEC);
    rows[0] = b.journal.n;
    spec.grace_us = 7 * USEC_PER_SEC;
    post(&b, update);
    run(&b, 3 * USEC_PER_SEC);
    rows[1] = b.journal.n;
    spec.weight_ppm = 2 * PPM;
    post(&b, update);
    run(&b, 4 * USEC_PER_SEC);
    for (int i = 0; i < 2; i++) {
        journal_commit(&b.journal, b.engine, rows[i] - b.journal.durable);
        assert_string_equal(b.seen[b.n_seen - 1].what, "answer");
    }
    assert_int_equal(b.n_seen, 2);
    journal_commit_all(&b.journal, b.engine);
    assert_seen(&b, 2, "start", 1);
    assert_int_equal(b.n_seen, 4);
    bench_release(&b);
}

static void a_pending_stop_waits_for_the_newest_grace(void **state)
{
    struct job_spec spec = spec_of("a", 1, 1);
    struct event update = {.kind = EVENT_UPDATE, .job = 1, .spec = &spec};
    struct bench b = {0};
    size_t stop;

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 1, 1);
    run(&b, 2 * USEC_PER_SEC);
    journal_commit_all(&b.journal, b.engine);
    post_report(&b, EVENT_STARTED, 1, 1);
    post(&b, (struct event){.kind = EVENT_CANCEL, .job = 1});
    run(&b, 3 * USEC_PER_SEC);
    stop = b.journal.n;
    spec.grace_us = 7 * USEC_PER_SEC;
    post(&b, update);
    run(&b, 4 * USEC_PER_SEC);
    b.n_seen = 0;
    journal_commit(&b.journal, b.engine, stop - b.journal.durable);
    assert_seen(&b, b.n_seen - 1, "answer", 0);
    assert_string_not_equal(b.seen[0].what, "stop");
    b.n_seen = 0;
    journal_commit_all(&b.journal, b.engine);
    assert_seen(&b, 0, "stop", 1);
    bench_release(&b);
}

static void a_duty_is_not_held_up_by_rows_that_do_not_change_it(void **state)
{
    struct bench b = {0};
    size_t plan;

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 1, 1);
    run(&b, 2 * USEC_PER_SEC);
    journal_commit_all(&b.journal, b.engine);
    post_report(&b, EVENT_STARTED, 1, 1);
    post(&b, (struct event){.kind = EVENT_CANCEL, .job = 1});
    run(&b, 3 * USEC_PER_SEC);
    plan = b.journal.n;
    post(&b, (struct event){.kind = EVENT_PERF,
                            .job = 1,
                            .incarnation = 1,
                            .samples = 64,
                            .rate_milli = 1000});
    run(&b, 4 * USEC_PER_SEC);
    assert_true(b.journal.n > plan);
    b.n_seen = 0;
    journal_commit(&b.journal, b.engine, plan - b.journal.durable);
    assert_seen(&b, 0, "stop", 1);
    bench_release(&b);
}

static void requests_are_refused_while_commits_fail(void **state)
{
    struct err full = {.code = E_IO, .text = "disk is full"};
    struct err why = {0};
    struct bench b = {0};
    size_t rows;

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 1, 1);
    run(&b, 2 * USEC_PER_SEC);
    engine_commit_failed(b.engine, &full);
    assert_true(engine_is_blocked(b.engine, &why));
    assert_string_equal(why.text, "disk is full");
    rows = b.journal.n;
    post_submit(&b, "b", 1, 1);
    post(&b, (struct event){.kind = EVENT_CANCEL, .job = 1});
    assert_int_equal(engine_run(b.engine, 3 * USEC_PER_SEC), USEC_NEVER);
    assert_int_equal(b.n_seen, 2);
    assert_int_equal(b.seen[0].rc, E_AGAIN);
    assert_int_equal(b.seen[1].rc, E_AGAIN);
    assert_non_null(strstr(b.err.text, "disk is full"));
    assert_int_equal(b.journal.n, rows);
    post_report(&b, EVENT_STARTED, 1, 1); /* the world goes on; no plan follows */
    run(&b, 4 * USEC_PER_SEC);
    assert_int_equal(b.journal.n, rows + 1);
    assert_int_equal(b.n_seen, 2);
    journal_commit(&b.journal, b.engine, 1);
    assert_false(engine_is_blocked(b.engine, NULL));
    journal_commit_all(&b.journal, b.engine);
    assert_seen(&b, 2, "answer", 1);
    run(&b, 5 * USEC_PER_SEC);
    assert_int_equal(b.journal.n, rows + 2); /* now the plan */
    bench_release(&b);
}

static void requests_are_refused_when_too_many_rows_wait(void **state)
{
    struct event config = {.kind = EVENT_CONFIG};
    struct bench b = {.journal.forgets = true};

    (void)state;
    bench_init(&b);
    config.config = *core_config(engine_core(b.engine));
    for (int64_t i = 0; i < ENGINE_UNCOMMITTED_MAX + 10; i++) {
        config.config.min_gap_us = i;
        config.time_us = 2 * USEC_PER_SEC + i;
        assert_int_equal(engine_post(b.engine, &config, on_answer, &b), 0);
        if (i % ENGINE_RUN_EVENTS == 0)
            run(&b, 2 * USEC_PER_SEC + i);
    }
    while (engine_run(b.engine, USEC_PER_MIN) != USEC_NEVER)
        continue;
    assert_int_equal(engine_seq(b.engine) - (int64_t)b.journal.durable,
                     ENGINE_UNCOMMITTED_MAX);
    assert_int_equal(b.seen[(b.n_seen - 1) % SEEN_MAX].rc, E_AGAIN);
    assert_int_equal(b.journal.snapshots,
                     (ENGINE_UNCOMMITTED_MAX) / ENGINE_SNAPSHOT_ROWS);
    b.n_seen = 0;
    journal_commit_all(&b.journal, b.engine);
    post_submit(&b, "a", 1, 1);
    b.n_seen = 0;
    run(&b, 2 * USEC_PER_MIN);
    journal_commit_all(&b.journal, b.engine);
    assert_seen(&b, 0, "start", 1);
    bench_release(&b);
}

static void a_thousand_submits_cost_one_plan(void **state)
{
    struct bench b = {.journal.forgets = true};
    int64_t plans;

    (void)state;
    bench_init(&b);
    plans = core_globals(engine_core(b.engine))->plans;
    for (int i = 0; i < 1000; i++)
        post_submit(&b, "a", 1, 1);
    run(&b, 2 * USEC_PER_SEC);
    assert_int_equal(core_n_jobs(engine_core(b.engine)), 1000);
    assert_int_equal(core_globals(engine_core(b.engine))->plans, plans + 1);
    bench_release(&b);
}

static void a_plan_comes_soon_though_events_never_end(void **state)
{
    const usec_t start_us = 2 * USEC_PER_SEC;
    struct bench b = {.journal.forgets = true};
    int64_t plans;

    (void)state;
    bench_init(&b);
    plans = core_globals(engine_core(b.engine))->plans;
    post_submit(&b, "a", 1, 1);
    for (int i = 0; i < 4 * ENGINE_RUN_EVENTS; i++)
        post_report(&b, EVENT_STARTED, 1, 99);
    assert_int_equal(engine_run(b.engine, start_us), start_us);
    assert_int_equal(core_globals(engine_core(b.engine))->plans, plans);
    run(&b, start_us + ENGINE_PLAN_DELAY_US - 1);
    assert_int_equal(core_globals(engine_core(b.engine))->plans, plans);
    run(&b, start_us + ENGINE_PLAN_DELAY_US);
    assert_int_equal(core_globals(engine_core(b.engine))->plans, plans + 1);
    bench_release(&b);
}

static void a_plan_waits_for_the_interval(void **state)
{
    struct event config = {.kind = EVENT_CONFIG};
    struct bench b = {0};
    usec_t again_us;
    int64_t plans;

    (void)state;
    bench_init(&b);
    config.config = *core_config(engine_core(b.engine));
    config.config.interval_us = USEC_PER_MIN;
    post(&b, config);
    run(&b, 61 * USEC_PER_SEC);
    plans = core_globals(engine_core(b.engine))->plans;
    post_submit(&b, "a", 1, 1);
    again_us = engine_run(b.engine, 62 * USEC_PER_SEC);
    assert_int_equal(again_us, 2 * USEC_PER_MIN);
    assert_int_equal(core_globals(engine_core(b.engine))->plans, plans);
    run(&b, again_us);
    assert_int_equal(core_globals(engine_core(b.engine))->plans, plans + 1);
    bench_release(&b);
}

static void time_never_decreases_restarts_included(void **state)
{
    struct bench b = {0};
    size_t rows;

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 1, 1);
    run(&b, USEC_PER_HOUR);
    post(&b, (struct event){.kind = EVENT_PAUSE, .job = 1, .time_us = 5});
    run(&b, 6); /* the fake journal asserts that rows are in order of time */
    rows = b.journal.n;
    assert_int_equal(b.journal.rows[rows - 1].row.time_us, USEC_PER_HOUR);
    engine_free(b.engine);
    bench_start(&b);
    assert_int_equal(journal_load(&b.journal, b.engine, b.journal.n, false), 0);
    engine_begin(b.engine);
    post(&b, (struct event){.kind = EVENT_DAEMON_START, .time_us = 7});
    run(&b, 8);
    assert_true(b.journal.n > rows);
    assert_int_equal(b.journal.rows[b.journal.n - 1].row.time_us, USEC_PER_HOUR);
    bench_release(&b);
}

struct chain {
    struct bench *bench;
    int left;
};

static void post_another(void *arg, int rc, const struct err *err, uint32_t job)
{
    struct chain *c = arg;
    struct job_spec spec = spec_of("next", 1, 1);
    struct event event = {.kind = EVENT_SUBMIT, .spec = &spec};

    (void)err;
    (void)job;
    assert_int_equal(rc, 0);
    if (--c->left > 0)
        assert_int_equal(engine_post(c->bench->engine, &event, post_another, c), 0);
}

static void posting_from_within_answers_and_ports_is_allowed(void **state)
{
    struct bench b = {.commits_at_once = true};
    struct chain c = {.bench = &b, .left = 3};
    struct job_spec spec = spec_of("first", 1, 1);
    struct event event = {.kind = EVENT_SUBMIT, .spec = &spec};

    (void)state;
    bench_init(&b);
    assert_int_equal(engine_post(b.engine, &event, post_another, &c), 0);
    while (c.left > 0)
        assert_int_equal(engine_run(b.engine, 2 * USEC_PER_SEC) < 0, 0);
    assert_int_equal(core_n_jobs(engine_core(b.engine)), 3);
    bench_release(&b);
}

static void what_is_owed_at_the_end_is_answered_with_again(void **state)
{
    struct bench b = {0};

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 1, 1);
    run(&b, 2 * USEC_PER_SEC);
    post_submit(&b, "b", 1, 1);
    engine_free(b.engine);
    assert_int_equal(b.n_seen, 2);
    assert_int_equal(b.seen[0].rc, E_AGAIN);
    assert_int_equal(b.seen[1].rc, E_AGAIN);
    journal_release(&b.journal);
}

static void facts_tell_a_job_from_submit_to_its_end(void **state)
{
    struct bench b = {0};
    const char *text = NULL;

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 2, 2);
    run(&b, 2 * USEC_PER_SEC);
    assert_int_equal(journal_facts(&b.journal, ENGINE_FACT_JOB, 1, &text), 1);
    assert_non_null(strstr(text, "\"name\":\"a\""));
    assert_int_equal(journal_facts(&b.journal, ENGINE_FACT_HISTORY, 1, &text), 2);
    assert_non_null(
        strstr(text, "\"size\":2,\"state\":\"starting\",\"time_us\":2000000"));
    post_report(&b, EVENT_STARTED, 1, 1);
    post(&b, (struct event){.kind = EVENT_PERF,
                            .job = 1,
                            .incarnation = 1,
                            .samples = 64,
                            .rate_milli = 1000});
    run(&b, 3 * USEC_PER_SEC);
    assert_int_equal(journal_facts(&b.journal, ENGINE_FACT_HISTORY, 1, NULL), 3);
    post(&b, (struct event){
                 .kind = EVENT_CANCEL, .job = 1, .text = "said \"no\" \xc3\xa4 \xc3"});
    run(&b, 4 * USEC_PER_SEC);
    assert_int_equal(journal_facts(&b.journal, ENGINE_FACT_HISTORY, 1, &text), 4);
    assert_non_null(strstr(text, "said \\\"no\\\" \xc3\xa4 ?"));
    assert_int_equal(journal_facts(&b.journal, ENGINE_FACT_END, 0, NULL), 0);
    post_report(&b, EVENT_EXIT, 1, 1);
    run(&b, 5 * USEC_PER_SEC);
    assert_int_equal(journal_facts(&b.journal, ENGINE_FACT_END, 1, &text), 1);
    assert_non_null(strstr(text, "\"state\":\"cancelled\""));
    assert_int_equal(journal_facts(&b.journal, ENGINE_FACT_JOB, 0, NULL), 1);
    bench_release(&b);
}

static void watchers_see_every_change_once_and_every_step(void **state)
{
    struct bench b = {0};

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 1, 1);
    run(&b, 2 * USEC_PER_SEC);
    assert_int_equal(b.n_steps, b.journal.n);
    assert_true(b.n_changes > b.n_steps);
    bench_release(&b);
}

static void a_damaged_journal_is_refused_by_row(void **state)
{
    struct engine_row row = {.seq = 1, .kind = "plan", .input = "{}", .changes = "[]"};
    struct bench b = {0};
    struct err err = {0};

    (void)state;
    bench_start(&b);
    row.kind_version = WIRE_KIND_VERSION + 1;
    assert_int_equal(engine_load_row(b.engine, &row, &err), E_VERSION);
    row.kind_version = WIRE_KIND_VERSION;
    assert_int_equal(engine_load_row(b.engine, &row, &err), 0);
    row.seq = 3;
    assert_int_equal(engine_load_row(b.engine, &row, &err), E_CORRUPT);
    assert_non_null(strstr(err.text, "row 3"));
    row.seq = 2;
    row.changes = "[{]";
    assert_int_equal(engine_load_row(b.engine, &row, &err), E_CORRUPT);
    assert_non_null(strstr(err.text, "row 2"));
    bench_release(&b);
}

static void a_snapshot_that_cannot_be_read_leaves_the_engine_as_it_was(void **state)
{
    struct bench b = {0};
    struct bench after = {0};
    struct err err = {0};

    (void)state;
    bench_init(&b);
    post_submit(&b, "a", 1, 1);
    run(&b, 2 * USEC_PER_SEC);
    assert_int_equal(engine_snapshot(b.engine), 0);
    bench_start(&after);
    assert_int_equal(engine_load_snapshot(after.engine, 3, "{", 1, &err), E_CORRUPT);
    assert_int_equal(engine_load_snapshot(after.engine, b.journal.snapshot_seq + 1,
                                          b.journal.snapshot, b.journal.snapshot_len,
                                          &err),
                     E_CORRUPT);
    assert_int_equal(core_n_jobs(engine_core(after.engine)), 0);
    assert_int_equal(journal_load(&b.journal, after.engine, b.journal.n, true), 0);
    assert_int_equal(core_n_jobs(engine_core(after.engine)), 1);
    bench_release(&after);
    bench_release(&b);
}

static int begin_nodes(struct bench *b)
{
    struct event node = {.kind = EVENT_NODE_UP, .node = {.devices = 4, .name = "n1"}};

    engine_begin(b->engine);
    return engine_post(b->engine, &node, NULL, NULL);
}

static int post_again(struct bench *b, const struct event *event)
{
    int rc = engine_post(b->engine, event, on_answer, b);

    if (rc == E_NOMEM)
        rc = engine_post(b->engine, event, on_answer, b);
    return rc;
}

static void run_again(struct bench *b, usec_t now_us)
{
    usec_t next_us = engine_run(b->engine, now_us);

    if (next_us == E_NOMEM)
        next_us = engine_run(b->engine, now_us);
    assert_true(next_us >= 0);
}

/* Every call is repeated when it fails; so the outcome is that of a run without faults.
 */
static uint64_t short_life(struct bench *b)
{
    struct job_spec spec = spec_of("a", 1, 2);
    struct job_spec other = spec_of("b", 1, 1);
    struct event submit = {.kind = EVENT_SUBMIT, .spec = &spec};
    struct event second = {.kind = EVENT_SUBMIT, .spec = &other};
    struct event started = {.kind = EVENT_STARTED, .job = 1, .incarnation = 1};
    struct event cancel = {.kind = EVENT_CANCEL, .job = 1};
    uint64_t digest = 0;

    started.samples = -1;
    assert_int_equal(post_again(b, &submit), 0);
    assert_int_equal(post_again(b, &second), 0);
    run_again(b, 2 * USEC_PER_SEC);
    journal_commit_all(&b->journal, b->engine);
    assert_int_equal(post_again(b, &started), 0);
    run_again(b, 3 * USEC_PER_SEC);
    assert_int_equal(post_again(b, &cancel), 0);
    run_again(b, 4 * USEC_PER_SEC);
    if (engine_snapshot(b->engine) == E_NOMEM)
        assert_int_equal(engine_snapshot(b->engine), 0);
    journal_commit_all(&b->journal, b->engine);
    if (wire_digest(engine_core(b->engine), &digest) < 0)
        assert_int_equal(wire_digest(engine_core(b->engine), &digest), 0);
    return digest;
}

static void a_failed_allocation_puts_a_step_off_and_nothing_else(void **state)
{
    uint64_t right = 0;
    size_t right_seen = 0;
    size_t right_changes = 0;
    size_t blocks = mem_fault_blocks();

    (void)state;
    for (uint64_t nth = 0;; nth++) {
        struct bench b = {0};
        struct core *folded;
        bool has_failed;
        uint64_t digest;

        bench_start(&b);
        assert_int_equal(begin_nodes(&b), 0);
        run(&b, USEC_PER_SEC);
        journal_commit_all(&b.journal, b.engine);
        b.n_seen = 0;
        if (nth > 0)
            mem_fault_arm(nth);
        digest = short_life(&b);
        has_failed = mem_fault_disarm();
        if (nth == 0) {
            right = digest;
            right_seen = b.n_seen;
            right_changes = b.n_changes;
        }
        assert_int_equal(digest, right);
        assert_int_equal(b.n_seen, right_seen);
        assert_int_equal(b.n_changes, right_changes);
        folded = journal_fold(&b.journal, b.journal.n);
        assert_int_equal(wire_digest(folded, &digest), 0);
        assert_int_equal(digest, right);
        core_free(folded);
        bench_release(&b);
        if (nth > 0 && !has_failed)
            break;
    }
    assert_int_equal(mem_fault_blocks(), blocks);
}

static void a_store_without_memory_puts_the_step_off(void **state)
{
    struct bench b = {0};
    size_t rows;

    (void)state;
    bench_init(&b);
    rows = b.journal.n;
    b.journal.refuses = true;
    post_submit(&b, "a", 1, 1);
    assert_int_equal(engine_run(b.engine, 2 * USEC_PER_SEC), E_NOMEM);
    assert_int_equal(core_n_jobs(engine_core(b.engine)), 0);
    assert_int_equal(engine_seq(b.engine), rows);
    b.journal.refuses = false;
    run(&b, 3 * USEC_PER_SEC);
    journal_commit_all(&b.journal, b.engine);
    assert_seen(&b, 0, "start", 1);
    assert_seen(&b, 1, "answer", 1);
    bench_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_leaves_before_its_row_is_durable),
        cmocka_unit_test(one_commit_serves_a_group_in_order_duties_first),
        cmocka_unit_test(a_refusal_is_answered_in_the_run_and_makes_no_row),
        cmocka_unit_test(an_answer_without_a_row_waits_for_the_rows_before_it),
        cmocka_unit_test(a_store_that_answers_at_once_is_served_after_the_step),
        cmocka_unit_test(a_duty_that_the_job_has_left_behind_is_dropped),
        cmocka_unit_test(a_start_whose_devices_were_lost_is_never_performed),
        cmocka_unit_test(a_pending_start_waits_for_the_newest_spec),
        cmocka_unit_test(a_pending_stop_waits_for_the_newest_grace),
        cmocka_unit_test(a_duty_is_not_held_up_by_rows_that_do_not_change_it),
        cmocka_unit_test(requests_are_refused_while_commits_fail),
        cmocka_unit_test(requests_are_refused_when_too_many_rows_wait),
        cmocka_unit_test(a_thousand_submits_cost_one_plan),
        cmocka_unit_test(a_plan_comes_soon_though_events_never_end),
        cmocka_unit_test(a_plan_waits_for_the_interval),
        cmocka_unit_test(time_never_decreases_restarts_included),
        cmocka_unit_test(posting_from_within_answers_and_ports_is_allowed),
        cmocka_unit_test(what_is_owed_at_the_end_is_answered_with_again),
        cmocka_unit_test(facts_tell_a_job_from_submit_to_its_end),
        cmocka_unit_test(watchers_see_every_change_once_and_every_step),
        cmocka_unit_test(a_damaged_journal_is_refused_by_row),
        cmocka_unit_test(a_snapshot_that_cannot_be_read_leaves_the_engine_as_it_was),
        cmocka_unit_test(a_failed_allocation_puts_a_step_off_and_nothing_else),
        cmocka_unit_test(a_store_without_memory_puts_the_step_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
