/* SPDX-License-Identifier: Apache-2.0 */
/* The form of the lines; what they say about whole runs is test/golden's part. */
#include "engine/story.h"

#include "support/rig.h"

struct telling {
    struct rig rig;
    struct buf text;
    struct story story;
    struct engine_watch_port port;
};

static void telling_init(struct telling *t)
{
    rig_init(&t->rig);
    buf_init(&t->text, 1 << 16);
    story_init(&t->story, &t->text, t->rig.now_us, 1);
    t->port = story_watch(&t->story);
}

static void telling_release(struct telling *t)
{
    story_release(&t->story);
    buf_release(&t->text);
    rig_release(&t->rig);
}

/* As the engine does: each change is shown before it is folded in. */
static void tell(struct telling *t, struct event event)
{
    struct changes changes;

    changes_init(&changes);
    event.time_us = t->rig.now_us;
    assert_int_equal(core_decide(t->rig.core, &event, &changes, NULL), 0);
    for (size_t i = 0; i < changes.n; i++) {
        t->port.change(t->port.ctx, t->rig.core, &event, &changes.items[i]);
        assert_int_equal(core_apply(t->rig.core, &changes.items[i]), 0);
    }
    t->port.step(t->port.ctx, t->rig.core, &event);
    changes_release(&changes);
}

static void tell_node(struct telling *t, enum event_kind kind, const char *name)
{
    struct event event = {.kind = kind, .node = {.devices = 2}};

    (void)snprintf(event.node.name, sizeof event.node.name, "%s", name);
    tell(t, event);
}

static void assert_text(struct telling *t, const char *expected)
{
    assert_string_equal(t->text.text, expected);
    buf_clear(&t->text);
}

static void story_aligns_its_columns_and_ends_lines_without_blanks(void **state)
{
    struct telling t;

    (void)state;
    telling_init(&t);
    story_note(&t.story, t.rig.now_us, "a", "lost", "2 gpu gone", "");
    story_note(&t.story, t.rig.now_us + 90 * USEC_PER_MIN, "longer", "lost", "", "why");
    story_note(&t.story, t.rig.now_us, "a", "lost", "", "");
    story_note(&t.story, t.rig.now_us, "a", "lost", "a detail that is too long", "why");
    assert_text(&t,
                "[0:00:00] a   lost                   2 gpu gone\n"
                "[1:30:00] longer lost                                       why\n"
                "[0:00:00] a   lost\n"
                "[0:00:00] a   lost                   a detail that is too long  why\n");
    telling_release(&t);
}

static void story_tells_nodes_but_not_those_of_the_beginning(void **state)
{
    struct telling t;

    (void)state;
    telling_init(&t);
    tell_node(&t, EVENT_NODE_UP, "n1");
    assert_text(&t, "");
    t.rig.now_us += USEC_PER_MIN;
    tell_node(&t, EVENT_NODE_UP, "n2");
    tell_node(&t, EVENT_NODE_LOST, "n1");
    tell_node(&t, EVENT_NODE_LOST, "n1");
    tell_node(&t, EVENT_NODE_UP, "n1");
    assert_text(&t, "[0:01:00] n2  new                    2 gpu free\n"
                    "[0:01:00] n1  lost                   2 gpu gone\n"
                    "[0:01:00] n1  back                   2 gpu free\n");
    telling_release(&t);
}

static void story_tells_an_end_in_one_line_and_work_that_is_repeated(void **state)
{
    struct event exit = {.kind = EVENT_EXIT,
                         .job = 1,
                         .incarnation = 1,
                         .cause = JOB_CAUSE_USER_ERROR,
                         .exit_code = 3,
                         .samples = 40};
    struct event perf = {.kind = EVENT_PERF,
                         .job = 1,
                         .incarnation = 1,
                         .samples = 100,
                         .rate_milli = 2000};
    struct event started = {
        .kind = EVENT_STARTED, .job = 1, .incarnation = 1, .samples = -1};
    struct telling t;
    struct job_spec spec = rig_spec("a", 2, 2);

    (void)state;
    telling_init(&t);
    spec.retries = 1;
    tell_node(&t, EVENT_NODE_UP, "n1");
    tell(&t, (struct event){.kind = EVENT_SUBMIT, .spec = &spec});
    assert_text(&t, "");
    tell(&t, (struct event){.kind = EVENT_PLAN});
    tell(&t, started);
    buf_clear(&t.text);
    t.rig.now_us += USEC_PER_MIN;
    tell(&t, perf);
    (void)snprintf(exit.node.name, sizeof exit.node.name, "n1");
    tell(&t, exit);
    assert_text(&t,
                "[0:01:00] a   running  -> queued     not before 0:01:10  exit code 3\n");
    t.rig.now_us += USEC_PER_MIN;
    tell(&t, (struct event){.kind = EVENT_WAKE});
    tell(&t, (struct event){.kind = EVENT_PLAN});
    buf_clear(&t.text);
    started.incarnation = 2;
    tell(&t, started);
    assert_text(&t, "[0:02:00] a   starting -> running                        "
                    "30 s of work repeated\n");
    telling_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(story_aligns_its_columns_and_ends_lines_without_blanks),
        cmocka_unit_test(story_tells_nodes_but_not_those_of_the_beginning),
        cmocka_unit_test(story_tells_an_end_in_one_line_and_work_that_is_repeated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
