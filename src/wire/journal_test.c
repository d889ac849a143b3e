/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/journal.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "support/mem_fault.h"
#include "support/record_random.h"

#include "wire/records.h"

#define TEXT_MAX (1 << 20)

/* Texts as version 1 writes them, one for each kind and in its order. They stand in
 * journals: never change a line here, only add. */
static const char *const event_texts[] = {
    "{\"config\":{\"admission\":\"queue\",\"min_gap_us\":30000000,\"policy\":\"joint\","
    "\"scaler\":\"none\"},\"kind\":\"config\",\"time_us\":1}",
    "{\"device_type\":\"a100\",\"devices\":8,\"kind\":\"node-up\",\"node\":\"n1\","
    "\"time_us\":2}",
    "{\"kind\":\"node-lost\",\"node\":\"n1\",\"time_us\":3}",
    "{\"kind\":\"submit\",\"model\":{\"source\":\"stated\"},\"spec\":{\"batch_max\":1024,"
    "\"batch_min\":128,\"id\":0,\"launch\":\"{\\\"argv\\\":[\\\"true\\\"]}\","
    "\"level\":\"elastic\",\"name\":\"mlp\",\"sizes\":{\"max\":8,\"min\":1,\"step\":1},"
    "\"uid\":1000,\"weight_ppm\":1000000},\"time_us\":4}",
    "{\"job\":1,\"kind\":\"update\",\"spec\":{\"id\":1,\"level\":\"rigid\",\"name\":"
    "\"m\","
    "\"sizes\":{\"listed\":[1,2,4],\"max\":4,\"min\":1},\"uid\":0},\"time_us\":5}",
    "{\"job\":1,\"kind\":\"cancel\",\"text\":\"by uid 1000\",\"time_us\":6}",
    "{\"job\":1,\"kind\":\"pause\",\"time_us\":7}",
    "{\"job\":1,\"kind\":\"resume\",\"time_us\":8}",
    "{\"incarnation\":3,\"job\":1,\"kind\":\"started\",\"time_us\":9}",
    "{\"incarnation\":3,\"job\":1,\"kind\":\"saved\",\"samples\":-1,\"time_us\":10}",
    "{\"incarnation\":3,\"job\":1,\"kind\":\"save-failed\",\"text\":\"disk full\","
    "\"time_us\":11}",
    "{\"cause\":\"killed\",\"exit_code\":137,\"incarnation\":3,\"job\":1,"
    "\"kind\":\"exit\",\"node\":\"n1\",\"samples\":640,\"text\":\"signal 9\","
    "\"time_us\":12}",
    "{\"incarnation\":3,\"job\":1,\"kind\":\"perf\",\"rate_milli\":512000,"
    "\"samples\":1024,\"time_us\":13}",
    "{\"job\":1,\"kind\":\"model\",\"model\":{\"comm\":[{\"size\":2,\"time_ns\":7}],"
    "\"comm_form\":\"ring\",\"is_noisy\":true,\"proc\":[{\"micro_batch\":8,"
    "\"time_ns\":5},{\"micro_batch\":16,\"time_ns\":9}],\"source\":\"measured\"},"
    "\"time_us\":14}",
    "{\"kind\":\"daemon-start\",\"time_us\":15}",
    "{\"incarnation\":3,\"job\":1,\"kind\":\"adopted\",\"time_us\":16}",
    "{\"kind\":\"wake\",\"time_us\":17}",
    "{\"kind\":\"plan\",\"time_us\":18}",
    "{\"device\":2,\"device_state\":\"foreign\",\"kind\":\"device\",\"node\":\"n1\","
    "\"text\":\"ada, pid 7\",\"time_us\":19}",
};

static const char changes_text[] =
    "[{\"globals\":{\"head_order\":-1,\"needs_plan\":true,\"next_job\":2,\"now_us\":5},"
    "\"kind\":\"globals\"},"
    "{\"config\":{\"admission\":\"skip\",\"policy\":\"joint\",\"scaler\":\"payback\"},"
    "\"kind\":\"config\"},"
    "{\"kind\":\"node\",\"node\":{\"devices\":4,\"first\":0,\"index\":0,\"name\":\"n1\","
    "\"since_us\":1,\"state\":\"lost\"}},"
    "{\"hold\":{\"count\":2,\"first\":1,\"flags\":3,\"job\":1},\"kind\":\"hold\"},"
    "{\"kind\":\"spec\",\"spec\":{\"family\":\"f\",\"id\":1,\"launch\":\"\","
    "\"level\":\"restartable\",\"name\":\"m\",\"uid\":5}},"
    "{\"job\":1,\"kind\":\"model\",\"model\":{\"source\":\"prior\"}},"
    "{\"kind\":\"run\",\"run\":{\"cause\":\"node-lost\",\"goal\":\"paused\",\"id\":1,"
    "\"next\":{\"generation\":2,\"size\":2},\"phase\":\"exit\",\"plan\":{"
    "\"accumulation\":1,\"generation\":1,\"global_batch\":64,\"micro_batch\":16,"
    "\"size\":4},\"reason\":\"4 to 2\",\"stalls\":{\"restart_us\":9},"
    "\"state\":\"stopping\"}},"
    "{\"kind\":\"profile\",\"profile\":{\"family\":\"cnn\",\"model\":{\"source\":"
    "\"measured\"},\"uid\":7,\"updated_us\":3}},"
    "{\"kind\":\"mark\",\"mark\":{\"device\":2,\"since_us\":3,\"state\":\"stuck\","
    "\"who\":\"pid 7\"}}]";

static char *text_of_event(const struct event *event)
{
    struct buf b;

    buf_init(&b, TEXT_MAX);
    wire_event_encode(event, &b);
    assert_int_equal(buf_error(&b), 0);
    return buf_take(&b);
}

static char *text_of_changes(const struct changes *changes)
{
    struct buf b;

    buf_init(&b, TEXT_MAX);
    wire_changes_encode(changes, &b);
    assert_int_equal(buf_error(&b), 0);
    return buf_take(&b);
}

static void event_of_each_kind_has_its_text(void **state)
{
    struct wire_event e;
    struct err err = {0};
    char *text;

    (void)state;
    assert_int_equal(sizeof event_texts / sizeof event_texts[0], EVENT_KIND_MAX);
    for (int i = 0; i < EVENT_KIND_MAX; i++) {
        if (wire_event_decode(event_texts[i], strlen(event_texts[i]), &e, &err) < 0)
            fail_msg("%s %s: %s", err.field, err.text, event_texts[i]);
        assert_int_equal(e.event.kind, i);
        assert_true(e.event.time_us == i + 1);
        text = text_of_event(&e.event);
        assert_string_equal(text, event_texts[i]);
        mem_free(text);
        wire_event_release(&e);
    }
}

static void event_holds_what_its_text_says(void **state)
{
    struct wire_event e;

    (void)state;
    assert_int_equal(wire_event_decode(event_texts[EVENT_SUBMIT],
                                       strlen(event_texts[EVENT_SUBMIT]), &e, NULL),
                     0);
    assert_ptr_equal(e.event.spec, &e.spec);
    assert_ptr_equal(e.event.model, &e.model);
    assert_int_equal(e.model.source, MODEL_STATED);
    assert_int_equal(e.spec.level, JOB_ELASTIC);
    assert_int_equal(e.spec.sizes.max, 8);
    assert_string_equal(e.spec.launch, "{\"argv\":[\"true\"]}");
    wire_event_release(&e);
    assert_int_equal(wire_event_decode(event_texts[EVENT_EXIT],
                                       strlen(event_texts[EVENT_EXIT]), &e, NULL),
                     0);
    assert_null(e.event.spec);
    assert_null(e.event.model);
    assert_int_equal(e.event.cause, JOB_CAUSE_KILLED);
    assert_int_equal(e.event.exit_code, 137);
    assert_string_equal(e.event.node.name, "n1");
    wire_event_release(&e);
}

static void event_writes_only_the_fields_of_its_kind(void **state)
{
    struct event event = {.kind = EVENT_PAUSE, .job = 3, .exit_code = 1, .samples = 5};
    char *text;

    (void)state;
    (void)snprintf(event.node.name, sizeof event.node.name, "n1");
    text = text_of_event(&event);
    assert_string_equal(text, "{\"job\":3,\"kind\":\"pause\",\"time_us\":0}");
    mem_free(text);
}

static void assert_event_refused(const char *text, int code, const char *field)
{
    struct wire_event e;
    struct wire_event before;
    struct err err = {0};

    memset(&e, 0x5a, sizeof e);
    memcpy(&before, &e, sizeof e);
    assert_int_equal(wire_event_decode(text, strlen(text), &e, &err), code);
    assert_string_equal(err.field, field);
    assert_true(strlen(err.text) > 0);
    assert_memory_equal(&before, &e, sizeof e);
}

static void event_of_an_unknown_kind_is_refused_by_name(void **state)
{
    static const char text[] = "{\"kind\":\"teleport\",\"time_us\":1}";
    struct wire_event e;
    struct err err;

    (void)state;
    assert_event_refused(text, E_VERSION, "kind");
    assert_int_equal(wire_event_decode(text, strlen(text), &e, &err), E_VERSION);
    assert_non_null(strstr(err.text, "teleport"));
    assert_event_refused("{\"kind\":7}", E_INVALID, "kind");
    assert_event_refused("{}", E_INVALID, "kind");
}

static void event_without_what_its_kind_needs_is_refused(void **state)
{
    (void)state;
    assert_event_refused("{\"kind\":\"submit\"}", E_INVALID, "spec");
    assert_event_refused("{\"kind\":\"update\",\"job\":1}", E_INVALID, "spec");
    assert_event_refused("{\"kind\":\"model\",\"job\":1}", E_INVALID, "model");
    assert_event_refused("{\"kind\":\"config\"}", E_INVALID, "config");
    assert_event_refused("{\"kind\":\"submit\",\"spec\":{\"launch\":\"x\",\"uid\":-1}}",
                         E_INVALID, "spec.uid");
    assert_event_refused("{\"kind\":\"submit\",\"model\":{},\"spec\":[]}", E_INVALID,
                         "spec");
}

static void changes_of_each_kind_have_their_text(void **state)
{
    struct changes changes;
    struct err err = {0};
    char *text;

    (void)state;
    changes_init(&changes);
    if (wire_changes_decode(changes_text, strlen(changes_text), &changes, &err) < 0)
        fail_msg("%s %s", err.field, err.text);
    assert_int_equal(changes.n, CHANGE_KIND_MAX);
    for (size_t i = 0; i < changes.n; i++)
        assert_int_equal(changes.items[i].kind, i);
    assert_int_equal(changes.items[CHANGE_RUN].u.run.stall_us[JOB_STALL_RESTART], 9);
    assert_int_equal(changes.items[CHANGE_HOLD].u.hold.flags, HOLD_NOW | HOLD_NEXT);
    assert_int_equal(changes.items[CHANGE_MODEL].u.model.job, 1);
    text = text_of_changes(&changes);
    assert_string_equal(text, changes_text);
    mem_free(text);
    changes_release(&changes);
}

static void changes_are_appended_and_a_failure_leaves_no_trace(void **state)
{
    static const char half[] = "[{\"kind\":\"spec\",\"spec\":{\"launch\":\"{}\"}},"
                               "{\"kind\":\"model\",\"model\":{\"source\":1}}]";
    struct changes changes;

    (void)state;
    changes_init(&changes);
    assert_int_equal(wire_changes_decode(" [ ] \n", 6, &changes, NULL), 0);
    assert_int_equal(changes.n, 0);
    assert_int_equal(
        wire_changes_decode(changes_text, strlen(changes_text), &changes, NULL), 0);
    assert_int_equal(wire_changes_decode(half, strlen(half), &changes, NULL), E_INVALID);
    assert_int_equal(changes.n, CHANGE_KIND_MAX);
    assert_int_equal(
        wire_changes_decode(changes_text, strlen(changes_text), &changes, NULL), 0);
    assert_int_equal(changes.n, 2 * CHANGE_KIND_MAX);
    changes_release(&changes);
}

static void assert_changes_refused(const char *text, int code, const char *field)
{
    struct changes changes;
    struct err err = {0};

    changes_init(&changes);
    assert_int_equal(wire_changes_decode(text, strlen(text), &changes, &err), code);
    assert_string_equal(err.field, field);
    assert_true(strlen(err.text) > 0);
    assert_int_equal(changes.n, 0);
    changes_release(&changes);
}

static void changes_name_the_place_of_a_mistake(void **state)
{
    (void)state;
    assert_changes_refused("[{\"kind\":\"hold\",\"hold\":{}},{\"kind\":\"run\","
                           "\"run\":{\"plan\":{\"size\":\"2\"}}}]",
                           E_INVALID, "changes[1].run.plan.size");
    assert_changes_refused("[{\"kind\":\"run\"}]", E_INVALID, "changes[0].run");
    assert_changes_refused("[{\"kind\":\"spec\"}]", E_INVALID, "changes[0].spec");
    assert_changes_refused("[{\"kind\":\"quota\"}]", E_VERSION, "changes[0].kind");
    assert_changes_refused("[1]", E_INVALID, "changes[0]");
    assert_changes_refused("", E_INVALID, "changes");
    assert_changes_refused("{}", E_INVALID, "changes");
    assert_changes_refused("[", E_INVALID, "changes[0]");
    assert_changes_refused("[,]", E_INVALID, "changes[0]");
    assert_changes_refused("[{\"kind\":\"hold\",\"hold\":{}},]", E_INVALID, "changes[1]");
    assert_changes_refused("[{\"kind\":\"hold\",\"hold\":{}}", E_INVALID, "changes");
    assert_changes_refused("[{\"kind\":\"hold\",\"hold\":{}}}", E_INVALID, "changes");
    assert_changes_refused("[{\"kind\":\"hold\",\"hold\":{}}]]", E_INVALID, "changes");
    assert_changes_refused("[{\"kind\":\"hold\",\"hold\":{}}]x", E_INVALID, "changes");
    assert_changes_refused("[{\"kind\":\"hold\",\"hold\":{}} {}]", E_INVALID,
                           "changes[0]");
}

/* Whatever decodes must be a fixed point of encoding. The text has no '\0' behind it. */
static void try_event(const char *text, size_t len)
{
    struct wire_event e;
    struct wire_event again;
    char *exact = mem_new(len, 1);
    char *first;
    char *second;

    assert_non_null(exact);
    memcpy(exact, text, len);
    if (wire_event_decode(exact, len, &e, NULL) == 0) {
        first = text_of_event(&e.event);
        assert_int_equal(wire_event_decode(first, strlen(first), &again, NULL), 0);
        second = text_of_event(&again.event);
        assert_string_equal(first, second);
        mem_free(first);
        mem_free(second);
        wire_event_release(&e);
        wire_event_release(&again);
    }
    mem_free(exact);
}

static void try_changes(const char *text, size_t len)
{
    struct changes changes;
    char *exact = mem_new(len, 1);
    char *first;
    char *second;

    assert_non_null(exact);
    memcpy(exact, text, len);
    changes_init(&changes);
    if (wire_changes_decode(exact, len, &changes, NULL) == 0) {
        first = text_of_changes(&changes);
        changes_clear(&changes);
        assert_int_equal(wire_changes_decode(first, strlen(first), &changes, NULL), 0);
        second = text_of_changes(&changes);
        assert_string_equal(first, second);
        mem_free(first);
        mem_free(second);
    }
    changes_release(&changes);
    mem_free(exact);
}

static void damage(const char *text, void (*try)(const char *text, size_t len))
{
    size_t len = strlen(text);
    char *damaged = mem_text(text);

    assert_non_null(damaged);
    for (size_t i = 0; i <= len; i++)
        try(text, i);
    for (size_t i = 0; i < len; i++)
        for (int bit = 0; bit < 8; bit++) {
            damaged[i] = (char)(text[i] ^ (1 << bit));
            try(damaged, len);
            damaged[i] = text[i];
        }
    mem_free(damaged);
}

static void damaged_texts_do_no_harm(void **state)
{
    (void)state;
    for (int i = 0; i < EVENT_KIND_MAX; i++)
        damage(event_texts[i], try_event);
    damage(changes_text, try_changes);
}

/* Lists of random changes of all kinds, through the whole way. */
static void random_lists_of_changes_come_back_equal(void **state)
{
    struct rng rng = record_rng(11);
    struct changes changes, back;
    const char *name = "";
    char *text;

    (void)state;
    changes_init(&back);
    changes_init(&changes);
    for (int round = 0; round < 100; round++) {
        for (uint64_t n = rng_below(&rng, 20); n > 0; n--) {
            struct change *change =
                changes_add(&changes, (enum change_kind)rng_below(&rng, CHANGE_KIND_MAX));

            assert_non_null(change);
            record_random(&record_change, &rng, change);
        }
        text = text_of_changes(&changes);
        assert_int_equal(wire_changes_decode(text, strlen(text), &back, NULL), 0);
        assert_int_equal(back.n, changes.n);
        for (size_t i = 0; i < back.n; i++)
            if (!record_equal(&record_change, &changes.items[i], &back.items[i], &name))
                fail_msg("%s came back otherwise: %s", name, text);
        mem_free(text);
        changes_clear(&changes);
        changes_clear(&back);
    }
    changes_release(&changes);
    changes_release(&back);
}

static void single_records_come_back(void **state)
{
    struct job_spec spec = {.id = 3, .name = "m", .sizes = {.min = 1, .max = 2}};
    struct job_run run = {.id = 3, .state = JOB_DONE, .samples_done = 5};
    struct perf_model model = {.n_proc = 1, .proc = {{8, 100}}};
    struct job_spec spec_back;
    struct job_run run_back;
    struct perf_model model_back;
    struct buf b;

    (void)state;
    spec.launch = mem_text("{\"argv\":[]}");
    buf_init(&b, TEXT_MAX);
    wire_spec_encode(&spec, &b);
    assert_int_equal(wire_spec_decode(b.text, b.len, &spec_back, NULL), 0);
    assert_string_equal(spec_back.launch, spec.launch);
    assert_int_equal(spec_back.sizes.max, 2);
    buf_clear(&b);
    wire_run_encode(&run, &b);
    assert_int_equal(wire_run_decode(b.text, b.len, &run_back, NULL), 0);
    assert_int_equal(run_back.state, JOB_DONE);
    buf_clear(&b);
    wire_model_encode(&model, &b);
    assert_int_equal(wire_model_decode(b.text, b.len, &model_back, NULL), 0);
    assert_int_equal(model_back.proc[0].time_ns, 100);
    assert_int_equal(wire_run_decode("{\"id\":", 6, &run_back, NULL), E_INVALID);
    assert_int_equal(run_back.id, 3);
    job_spec_release(&spec);
    job_spec_release(&spec_back);
    buf_release(&b);
}

/* jansson asks here; the allocation of this number fails, 0 is never. */
static size_t allocations_left;

static void *failing_malloc(size_t n)
{
    if (allocations_left == 1) {
        errno = ENOMEM; /* as malloc does */
        return NULL;
    }
    if (allocations_left > 0)
        allocations_left--;
    return malloc(n);
}

static void decoding_survives_each_failed_allocation_of_the_parser(void **state)
{
    const char *event = event_texts[EVENT_SUBMIT];
    struct changes changes;
    struct wire_event e;
    struct err err;
    int rc = -1;

    (void)state;
    json_set_alloc_funcs(failing_malloc, free);
    for (size_t n = 1; rc < 0; n++) {
        allocations_left = n;
        rc = wire_event_decode(event, strlen(event), &e, &err);
        assert_true(rc == 0 || rc == E_NOMEM);
        assert_true(n < 10000);
    }
    wire_event_release(&e);
    changes_init(&changes);
    rc = -1;
    for (size_t n = 1; rc < 0; n++) {
        allocations_left = n;
        rc = wire_changes_decode(changes_text, strlen(changes_text), &changes, &err);
        assert_true(rc == 0 || rc == E_NOMEM);
        assert_true(rc == 0 || changes.n == 0);
    }
    changes_release(&changes);
    json_set_alloc_funcs(malloc, free);
}

static void rows_survive_each_failed_allocation_of_ours(void **state)
{
    const char *event = event_texts[EVENT_SUBMIT];
    struct changes changes;
    struct wire_event e;
    bool failed = true;
    struct buf b;
    int rc;

    (void)state;
    for (uint64_t nth = 1; failed; nth++) {
        mem_fault_arm(nth);
        changes_init(&changes);
        buf_init(&b, TEXT_MAX);
        rc = wire_event_decode(event, strlen(event), &e, NULL);
        if (rc == 0) {
            wire_event_encode(&e.event, &b);
            wire_event_release(&e);
            rc = buf_error(&b);
        }
        if (rc == 0)
            rc = wire_changes_decode(changes_text, strlen(changes_text), &changes, NULL);
        failed = mem_fault_disarm();
        assert_int_equal(rc, failed ? E_NOMEM : 0);
        changes_release(&changes);
        buf_release(&b);
    }
    assert_int_equal(mem_fault_blocks(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(event_of_each_kind_has_its_text),
        cmocka_unit_test(event_holds_what_its_text_says),
        cmocka_unit_test(event_writes_only_the_fields_of_its_kind),
        cmocka_unit_test(event_of_an_unknown_kind_is_refused_by_name),
        cmocka_unit_test(event_without_what_its_kind_needs_is_refused),
        cmocka_unit_test(changes_of_each_kind_have_their_text),
        cmocka_unit_test(changes_are_appended_and_a_failure_leaves_no_trace),
        cmocka_unit_test(changes_name_the_place_of_a_mistake),
        cmocka_unit_test(damaged_texts_do_no_harm),
        cmocka_unit_test(random_lists_of_changes_come_back_equal),
        cmocka_unit_test(single_records_come_back),
        cmocka_unit_test(rows_survive_each_failed_allocation_of_ours),
        cmocka_unit_test(decoding_survives_each_failed_allocation_of_the_parser),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
