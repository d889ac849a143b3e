/* SPDX-License-Identifier: Apache-2.0 */
/* A journal that a small world wrote is cut off after every row, folded, decided again
 * and damaged. */
#include "engine/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/engine_testing.h"
#include "engine/world_testing.h"
#include "wire/journal.h"

#define SEED 20061

struct fixture {
    struct world world;
    struct journal *journal;
    char text[128];
};

static int make_journal(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    world_init(&f->world, SEED);
    for (int i = 0; i < 1000; i++) {
        world_act(&f->world);
        if (i == 500)
            assert_int_equal(engine_snapshot(f->world.engine), 0);
    }
    world_settle(&f->world);
    f->journal = &f->world.journal;
    *state = f;
    return 0;
}

static int drop_journal(void **state)
{
    struct fixture *f = *state;

    world_release(&f->world);
    free(f);
    return 0;
}

static void replay_of_every_prefix_gives_the_state_of_then(void **state)
{
    struct fixture *f = *state;

    assert_true(f->journal->n > 200);
    assert_true(f->journal->snapshot_seq > 0);
    for (size_t n = 1; n <= f->journal->n; n++) {
        struct replay_options options = {.until_seq = (int64_t)n, .check = true};
        struct journal_walk walk = {.journal = f->journal};
        struct replay_source source = journal_source(&walk);
        struct replay_report report;
        struct err err;

        if (n % 2 == 0 && f->journal->snapshot_seq <= (int64_t)n) {
            options.snapshot = f->journal->snapshot;
            options.snapshot_len = f->journal->snapshot_len;
            walk.at = (size_t)f->journal->snapshot_seq;
        }
        if (n < f->journal->n && n % 16 > 1)
            continue; /* digests cost; the engine itself is stopped everywhere below */
        assert_int_equal(replay_run(&options, &source, &report, &err), 0);
        assert_int_equal(report.last_seq, n);
        assert_int_equal(report.digest, f->world.digests[n]);
    }
}

static void a_restart_after_every_row_gives_the_state_of_then(void **state)
{
    struct fixture *f = *state;

    for (size_t n = 0; n <= f->journal->n; n++) {
        struct world again;
        uint64_t digest = 0;

        world_init_from(&again, SEED, f->journal, n, n % 2 == 0);
        assert_int_equal(engine_seq(again.engine), n);
        assert_int_equal(wire_digest(engine_core(again.engine), &digest), 0);
        if (n > 0)
            assert_int_equal(digest, f->world.digests[n]);
        engine_begin(again.engine); /* performs the duties of all jobs */
        world_assert_duties(&again);
        world_release(&again);
    }
}

static void deciding_again_gives_equal_rows(void **state)
{
    struct fixture *f = *state;
    const struct replay_options options = {.decide = true};
    struct journal_walk walk = {.journal = f->journal};
    struct replay_source source = journal_source(&walk);
    struct replay_report report;
    struct err err = {0};
    int rc = replay_run(&options, &source, &report, &err);

    if (rc < 0)
        fail_msg("%s\nrecorded: %s\nnow:      %s", err.text, report.recorded, report.now);
    assert_int_equal(report.rows, f->journal->n);
    assert_int_equal(report.decided, f->journal->n);
    assert_int_equal(report.different, 0);
    assert_int_equal(report.digest, f->world.digests[f->journal->n]);
}

/* Replays with one row replaced. */
static int replay_altered(struct fixture *f, size_t at, struct engine_row row,
                          struct replay_report *ret, struct err *err)
{
    const struct replay_options options = {.decide = true};
    struct engine_row old = f->journal->rows[at].row;
    struct journal_walk walk = {.journal = f->journal};
    struct replay_source source = journal_source(&walk);
    int rc;

    f->journal->rows[at].row = row;
    rc = replay_run(&options, &source, ret, err);
    f->journal->rows[at].row = old;
    return rc;
}

/* The first plan after row 20: an event that needs no input and decides much. */
static size_t some_plan(const struct fixture *f)
{
    size_t at = 20;

    while (strcmp(f->journal->rows[at].row.kind, "plan") != 0)
        at++;
    return at;
}

/* The input of that row as if it had been a wake. */
static const char *as_wake(struct fixture *f, size_t at)
{
    (void)snprintf(f->text, sizeof f->text, "{\"kind\":\"wake\",\"time_us\":%lld}",
                   (long long)f->journal->rows[at].row.time_us);
    return f->text;
}

static void a_row_that_comes_out_differently_is_a_bug_under_equal_rules(void **state)
{
    struct fixture *f = *state;
    size_t at = some_plan(f);
    struct engine_row row = f->journal->rows[at].row;
    struct replay_report report = {0};
    struct err err = {0};

    row.input = as_wake(f, at);
    assert_int_equal(replay_altered(f, at, row, &report, &err), E_CORRUPT);
    assert_int_equal(report.first_seq, at + 1);
    assert_string_equal(report.first_kind, "plan");
    assert_int_equal(report.last_seq, at);
    assert_non_null(strstr(err.text, "decided differently"));
}

static void a_row_that_comes_out_differently_is_news_under_other_rules(void **state)
{
    struct fixture *f = *state;
    size_t at = some_plan(f);
    struct engine_row row = f->journal->rows[at].row;
    struct replay_report report = {0};
    struct err err = {0};

    row.input = as_wake(f, at);
    row.rules = CORE_RULES + 1;
    assert_int_equal(replay_altered(f, at, row, &report, &err), 0);
    assert_int_equal(report.first_seq, at + 1);
    assert_int_equal(report.first_rules, CORE_RULES + 1);
    assert_int_equal(report.different, 1); /* what follows is decided on what was done */
    assert_string_not_equal(report.recorded, report.now);
    assert_int_equal(report.digest, f->world.digests[f->journal->n]);
}

static void a_damaged_row_is_named(void **state)
{
    struct fixture *f = *state;
    struct engine_row row = f->journal->rows[9].row;
    struct replay_report report = {0};
    struct err err = {0};

    row.changes = "[";
    assert_int_equal(replay_altered(f, 9, row, &report, &err), E_CORRUPT);
    assert_non_null(strstr(err.text, "row 10"));
    row = f->journal->rows[9].row;
    row.input = "{\"kind\":\"wake\",\"time_us\":1}";
    assert_int_equal(replay_altered(f, 9, row, &report, &err), E_CORRUPT);
    assert_non_null(strstr(err.text, "time goes back"));
    row = f->journal->rows[9].row;
    row.seq = 11;
    assert_int_equal(replay_altered(f, 9, row, &report, &err), E_CORRUPT);
    assert_non_null(strstr(err.text, "rows are missing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay_of_every_prefix_gives_the_state_of_then),
        cmocka_unit_test(a_restart_after_every_row_gives_the_state_of_then),
        cmocka_unit_test(deciding_again_gives_equal_rows),
        cmocka_unit_test(a_row_that_comes_out_differently_is_a_bug_under_equal_rules),
        cmocka_unit_test(a_row_that_comes_out_differently_is_news_under_other_rules),
        cmocka_unit_test(a_damaged_row_is_named),
    };

    return cmocka_run_group_tests(tests, make_journal, drop_journal);
}
