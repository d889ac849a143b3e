/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "support/record_random.h"
#include "support/rig.h"

#define STEPS 1500

static uint64_t digest_of(const struct core *core)
{
    uint64_t digest = 0;

    assert_int_equal(wire_digest(core, &digest), 0);
    return digest;
}

/* The changes of a step as text. */
static void write_changes(const struct changes *changes, struct buf *out)
{
    buf_clear(out);
    wire_changes_encode(changes, out);
    assert_int_equal(buf_error(out), 0);
}

static void apply_text(struct core *core, const struct buf *text)
{
    struct changes changes;
    struct err err = {0};

    changes_init(&changes);
    if (wire_changes_decode(text->text, text->len, &changes, &err) < 0)
        fail_msg("%s %s: %s", err.field, err.text, text->text);
    for (size_t i = 0; i < changes.n; i++)
        assert_int_equal(core_apply(core, &changes.items[i]), 0);
    changes_release(&changes);
}

/* Decides again from the event's text; the outcome must be the same to the letter. */
static void decide_again(const struct core *core, const struct event *event,
                         const struct buf *expected)
{
    struct wire_event back;
    struct changes changes;
    struct buf text, again;

    changes_init(&changes);
    buf_init(&text, WIRE_ROW_MAX);
    buf_init(&again, WIRE_ROW_MAX);
    wire_event_encode(event, &text);
    assert_int_equal(wire_event_decode(text.text, text.len, &back, NULL), 0);
    assert_int_equal(core_decide(core, &back.event, &changes, NULL), 0);
    write_changes(&changes, &again);
    assert_string_equal(again.text, expected->text);
    wire_event_release(&back);
    changes_release(&changes);
    buf_release(&text);
    buf_release(&again);
}

/* Names a node on which the job holds something, else any. */
static void name_node(struct rng *rng, const struct rig *r, struct event *event)
{
    const struct cluster *c = core_cluster(r->core);
    int node = (int)rng_below(rng, 3);

    for (int32_t i = 0; i < c->n_devices; i++)
        if (event->kind == EVENT_EXIT && c->devices[i].job == event->job)
            node = c->nodes[c->devices[i].node].name[1] - '0';
    (void)snprintf(event->node.name, sizeof event->node.name, "n%d", node);
}

static struct event random_event(struct rng *rng, const struct rig *r,
                                 struct job_spec *spec)
{
    static const struct perf_model model = {
        .source = MODEL_MEASURED,
        .largest_size = 4,
        .n_proc = 3,
        .proc = {{8, 1000000}, {32, 3000000}, {128, 12000000}},
        .n_comm = 1,
        .comm = {{2, 50000}},
    };
    static const enum event_kind kinds[] = {
        EVENT_SUBMIT,  EVENT_CANCEL,    EVENT_PAUSE,        EVENT_RESUME,  EVENT_SAVED,
        EVENT_STARTED, EVENT_STARTED,   EVENT_STARTED,      EVENT_ADOPTED, EVENT_EXIT,
        EVENT_EXIT,    EVENT_EXIT,      EVENT_SAVE_FAILED,  EVENT_PERF,    EVENT_WAKE,
        EVENT_PLAN,    EVENT_PLAN,      EVENT_DAEMON_START, EVENT_UPDATE,  EVENT_CONFIG,
        EVENT_NODE_UP, EVENT_NODE_LOST, EVENT_MODEL,        EVENT_MODEL,
    };
    struct event event = {
        .kind = kinds[rng_below(rng, sizeof kinds / sizeof kinds[0])],
        .time_us = r->now_us,
        .node = {.devices = 4},
        .spec = spec,
        .model = &model,
        .cause = rng_below(rng, 2) ? JOB_CAUSE_DONE
                                   : (enum job_cause)rng_below(rng, JOB_CAUSE_MAX),
        .exit_code = (int32_t)rng_below(rng, 3),
        .samples = (int64_t)rng_below(rng, 10000) - 1,
        .rate_milli = (int64_t)rng_below(rng, 1000000),
    };
    size_t n = core_n_jobs(r->core);

    if (n > 0) {
        const struct job *job = core_job_at(r->core, rng_below(rng, n));

        event.job = job->run.id;
        event.incarnation = job->run.incarnation;
    }
    name_node(rng, r, &event);
    config_defaults(&event.config);
    event.config.scaler = (enum config_scaler)rng_below(rng, CONFIG_SCALER_MAX);
    (void)snprintf(event.text, sizeof event.text, "by \"%d\"", (int)rng_below(rng, 9));
    *spec = rig_spec("job", 1, 1 + (int32_t)rng_below(rng, 4));
    spec->batch_min = 32;
    spec->batch_max = spec->level == JOB_RIGID ? 32 : 128;
    return event;
}

/* The life of a cluster, twice: decided, and read back from text. */
static void state_read_back_from_rows_has_the_same_digest(void **state)
{
    struct rng rng = record_rng(17);
    struct core *copy = core_new();
    struct job_spec spec;
    struct event event;
    struct buf text;
    struct rig r;
    unsigned seen = 0;
    int taken = 0;

    (void)state;
    assert_non_null(copy);
    rig_init(&r);
    buf_init(&text, WIRE_ROW_MAX);
    for (int step = 0; step < STEPS; step++) {
        r.now_us += (usec_t)rng_below(&rng, 20 * USEC_PER_SEC);
        event = random_event(&rng, &r, &spec);
        if (rig_event(&r, event) < 0)
            continue;
        taken++;
        write_changes(&r.changes, &text);
        decide_again(copy, &event, &text);
        apply_text(copy, &text);
        assert_true(digest_of(copy) == digest_of(r.core));
        for (size_t i = 0; i < r.changes.n; i++)
            if (r.changes.items[i].kind == CHANGE_RUN)
                seen |= BIT(r.changes.items[i].u.run.state);
    }
    print_message("# %d of %d events taken, %zu jobs left\n", taken, STEPS,
                  core_n_jobs(r.core));
    assert_int_equal(seen, BIT(JOB_DROPPED) - 1); /* all other states were visited */
    buf_release(&text);
    core_free(copy);
    rig_release(&r);
}

static void state_read_back_from_a_snapshot_has_the_same_digest(void **state)
{
    struct core *copy = core_new();
    struct changes changes;
    struct buf text, again;
    int64_t seq = 0;
    struct rig r;

    (void)state;
    assert_non_null(copy);
    rig_init(&r);
    rig_node(&r, "n1", 4);
    assert_true(rig_submit(&r, rig_spec("a", 1, 4)) > 0);
    assert_true(rig_submit(&r, rig_spec("b", 2, 2)) > 0);
    rig_plan(&r);
    rig_start_all(&r);
    changes_init(&changes);
    buf_init(&text, WIRE_SNAPSHOT_MAX);
    buf_init(&again, WIRE_SNAPSHOT_MAX);
    assert_int_equal(wire_snapshot_encode(r.core, 9, &text), 0);
    assert_int_equal(wire_snapshot_decode(text.text, text.len, &changes, &seq, NULL), 0);
    assert_int_equal(seq, 9);
    for (size_t i = 0; i < changes.n; i++)
        assert_int_equal(core_apply(copy, &changes.items[i]), 0);
    assert_int_equal(core_check(copy, NULL), 0);
    assert_true(digest_of(copy) == digest_of(r.core));
    assert_int_equal(wire_snapshot_encode(copy, 9, &again), 0);
    assert_string_equal(again.text, text.text);
    rig_node(&r, "n2", 1);
    assert_true(digest_of(copy) != digest_of(r.core));
    changes_release(&changes);
    buf_release(&text);
    buf_release(&again);
    core_free(copy);
    rig_release(&r);
}

static void snapshot_that_does_not_fit_is_an_error(void **state)
{
    struct core *core = core_new();
    struct buf text;

    (void)state;
    assert_non_null(core);
    buf_init(&text, 10);
    assert_int_equal(wire_snapshot_encode(core, 1, &text), E_LIMIT);
    buf_release(&text);
    core_free(core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_read_back_from_rows_has_the_same_digest),
        cmocka_unit_test(state_read_back_from_a_snapshot_has_the_same_digest),
        cmocka_unit_test(snapshot_that_does_not_fit_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
