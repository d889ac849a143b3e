/* SPDX-License-Identifier: Apache-2.0 */
/* Engine and store together, with the real core: what a daemon does at its start. */
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/units.h"
#include "engine/replay.h"
#include "store/reader.h"
#include "support/fault_vfs.h"
#include "wire/journal.h"

#define DIR_MAX 256

struct daemon {
    char dir[DIR_MAX];
    struct store *store;
    struct engine *engine;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    long n_notes;
    bool has_room; /* a writer that failed may try again */
    int answers;
    int last_rc;
    int performed;
    int forgotten; /* jobs whose folders may go */
    uint32_t newest_forgotten;
    struct store_options keep; /* what is kept; the other members are not read */
};

static void on_notify(void *arg)
{
    struct daemon *d = arg;

    (void)pthread_mutex_lock(&d->mutex);
    d->n_notes++;
    (void)pthread_cond_broadcast(&d->cond);
    (void)pthread_mutex_unlock(&d->mutex);
}

/* A writer that failed waits, not for a time, but until the test says that there is room.
 */
static void on_pause(void *arg, int attempt)
{
    struct daemon *d = arg;

    (void)attempt;
    (void)pthread_mutex_lock(&d->mutex);
    while (!d->has_room)
        (void)pthread_cond_wait(&d->cond, &d->mutex);
    (void)pthread_mutex_unlock(&d->mutex);
}

static void make_room(struct daemon *d)
{
    (void)pthread_mutex_lock(&d->mutex);
    d->has_room = true;
    (void)pthread_cond_broadcast(&d->cond);
    (void)pthread_mutex_unlock(&d->mutex);
}

/* Blocks until the store has news, and passes them on. */
static void await_news(struct daemon *d)
{
    long seen = -1;

    for (;;) {
        (void)pthread_mutex_lock(&d->mutex);
        while (d->n_notes == seen)
            (void)pthread_cond_wait(&d->cond, &d->mutex);
        seen = d->n_notes;
        (void)pthread_mutex_unlock(&d->mutex);
        if (store_poll(d->store, d->engine))
            return;
    }
}

static void await_durable(struct daemon *d)
{
    struct store_progress progress;

    for (;;) {
        store_get_progress(d->store, &progress);
        if (progress.durable_seq == engine_seq(d->engine))
            break;
        await_news(d);
    }
    (void)store_poll(d->store, d->engine);
}

static void on_answer(void *arg, int rc, const struct err *err, uint32_t job)
{
    struct daemon *d = arg;

    (void)err;
    (void)job;
    d->answers++;
    d->last_rc = rc;
}

static void on_perform(void *ctx, const struct core *core, const struct job *job,
                       const struct duty *duty)
{
    struct daemon *d = ctx;

    (void)core;
    (void)job;
    (void)duty;
    d->performed++;
}

static void on_forget(void *arg, uint32_t job) /* the writer's thread */
{
    struct daemon *d = arg;

    d->forgotten++;
    d->newest_forgotten = job;
}

static int daemon_start(struct daemon *d, struct store_recovery *recovery,
                        struct err *err)
{
    const struct store_options options = {.dir = d->dir,
                                          .holder = "recover_test",
                                          .notify = on_notify,
                                          .notify_arg = d,
                                          .keep_rows = d->keep.keep_rows,
                                          .keep_ended = d->keep.keep_ended,
                                          .keep_us = d->keep.keep_us,
                                          .forget = on_forget,
                                          .forget_arg = d,
                                          .vfs = FAULT_VFS_NAME,
                                          .pause = on_pause,
                                          .pause_arg = d};
    struct engine_ports ports = {.backend = {.ctx = d, .perform = on_perform}};
    int rc;

    assert_int_equal(store_open(&options, &d->store, err), 0);
    ports.store = store_port(d->store);
    d->engine = engine_new(&ports);
    assert_non_null(d->engine);
    rc = store_recover(d->store, d->engine, recovery, err);
    if (rc == 0)
        engine_begin(d->engine);
    return rc;
}

static void daemon_stop(struct daemon *d)
{
    engine_free(d->engine);
    assert_int_equal(store_close(d->store, NULL), 0);
}

static void daemon_init(struct daemon *d)
{
    const char *base = getenv("TMPDIR");

    *d = (struct daemon){0};
    (void)pthread_mutex_init(&d->mutex, NULL);
    (void)pthread_cond_init(&d->cond, NULL);
    (void)snprintf(d->dir, sizeof d->dir, "%s/elastane-recover-XXXXXX",
                   base ? base : "/tmp");
    assert_non_null(mkdtemp(d->dir));
    fault_vfs_register();
    assert_int_equal(daemon_start(d, NULL, NULL), 0);
}

static void remove_file(const struct daemon *d, const char *name)
{
    char path[DIR_MAX + 32];

    (void)snprintf(path, sizeof path, "%s/%s", d->dir, name);
    (void)unlink(path);
}

static void daemon_release(struct daemon *d)
{
    daemon_stop(d);
    remove_file(d, "state.db");
    remove_file(d, "state.db-wal");
    remove_file(d, "state.db-shm");
    remove_file(d, "lock");
    assert_int_equal(rmdir(d->dir), 0);
    (void)pthread_cond_destroy(&d->cond);
    (void)pthread_mutex_destroy(&d->mutex);
}

static void add_node(struct daemon *d)
{
    const struct event event = {.kind = EVENT_NODE_UP,
                                .node = {.devices = 8, .name = "n1"}};

    assert_int_equal(engine_post(d->engine, &event, NULL, NULL), 0);
}

static void submit(struct daemon *d, const char *name)
{
    struct job_spec spec = {.level = JOB_ELASTIC, .sizes = {.min = 1, .max = 8}};
    const struct event event = {.kind = EVENT_SUBMIT, .spec = &spec};

    (void)snprintf(spec.name, sizeof spec.name, "%s", name);
    assert_int_equal(engine_post(d->engine, &event, on_answer, d), 0);
}

static void run(struct daemon *d, usec_t now_us)
{
    assert_true(engine_run(d->engine, now_us) >= 0);
}

static uint64_t digest_of(const struct daemon *d)
{
    uint64_t digest = 0;

    assert_int_equal(wire_digest(engine_core(d->engine), &digest), 0);
    return digest;
}

/* Two jobs, a snapshot after the first, all durable. */
static uint64_t live(struct daemon *d)
{
    add_node(d);
    submit(d, "a");
    run(d, USEC_PER_SEC);
    assert_int_equal(engine_snapshot(d->engine), 0);
    submit(d, "b");
    run(d, 2 * USEC_PER_SEC);
    assert_int_equal(d->answers, 0);
    await_durable(d);
    assert_int_equal(d->answers, 2);
    assert_true(d->performed > 0);
    return digest_of(d);
}

static void a_restart_gives_the_same_state_from_snapshot_and_rows(void **state)
{
    struct store_recovery recovery;
    struct daemon d;
    uint64_t digest;
    int64_t seq;

    (void)state;
    daemon_init(&d);
    digest = live(&d);
    seq = engine_seq(d.engine);
    daemon_stop(&d);
    d.performed = 0;
    assert_int_equal(daemon_start(&d, &recovery, NULL), 0);
    assert_int_equal(digest_of(&d), digest);
    assert_int_equal(engine_seq(d.engine), seq);
    assert_true(recovery.snapshot_seq > 0);
    assert_int_equal(recovery.snapshot_seq + recovery.rows, seq);
    assert_true(d.performed > 0); /* duties again */
    submit(&d, "c");
    run(&d, 3 * USEC_PER_SEC);
    await_durable(&d);
    assert_int_equal(d.answers, 3);
    daemon_release(&d);
}

/* Runs a statement on the file of a daemon that does not run. */
static void meddle(const struct daemon *d, const char *statement)
{
    char path[DIR_MAX + 32];
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = NULL;

    (void)snprintf(path, sizeof path, "%s/state.db", d->dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, statement, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_snapshot_that_cannot_be_read_is_stepped_over(void **state)
{
    struct store_recovery recovery;
    struct daemon d;
    uint64_t digest;

    (void)state;
    daemon_init(&d);
    digest = live(&d);
    daemon_stop(&d);
    meddle(&d, "UPDATE snapshot SET text = '{\"changes\":['");
    assert_int_equal(daemon_start(&d, &recovery, NULL), 0);
    assert_int_equal(recovery.skipped_snapshots, 1);
    assert_int_equal(recovery.snapshot_seq, 0);
    assert_int_equal(digest_of(&d), digest);
    daemon_release(&d);
}

static void a_row_whose_time_is_wrong_is_named_and_nothing_starts(void **state)
{
    static const struct {
        const char *meddling;
        const char *words;
    } cases[] = {
        {"UPDATE \"row\" SET time_us = 9223372036854775807 WHERE seq = 3",
         "row 3 has the time 9223372036854775807"},
        {"UPDATE \"row\" SET time_us = -1 WHERE seq = 3", "row 3 has the time -1"},
        {"UPDATE \"row\" SET time_us = 1 WHERE seq = (SELECT max(seq) FROM \"row\")",
         "time goes back"},
        {"UPDATE \"row\" SET time_us = 'noon' WHERE seq = (SELECT max(seq) FROM \"row\")",
         "time goes back"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct err err = {0};
        struct daemon d;

        daemon_init(&d);
        (void)live(&d);
        daemon_stop(&d);
        meddle(&d, "DELETE FROM snapshot");
        meddle(&d, cases[i].meddling);
        assert_int_equal(daemon_start(&d, NULL, &err), E_CORRUPT);
        assert_non_null(strstr(err.text, cases[i].words));
        daemon_release(&d);
    }
}

static void a_gap_in_the_rows_is_named_and_nothing_starts(void **state)
{
    struct err err = {0};
    struct daemon d;

    (void)state;
    daemon_init(&d);
    (void)live(&d);
    daemon_stop(&d);
    meddle(&d, "DELETE FROM snapshot");
    meddle(&d, "DELETE FROM \"row\" WHERE seq = 2");
    assert_int_equal(daemon_start(&d, NULL, &err), E_CORRUPT);
    assert_non_null(strstr(err.text, "row 2 is missing"));
    daemon_release(&d);
}

static void a_full_disk_refuses_submits_until_it_has_room(void **state)
{
    struct daemon d;
    struct err why = {0};

    (void)state;
    daemon_init(&d);
    (void)live(&d);
    fault_vfs_arm(FAULT_FULL, 1, true);
    submit(&d, "c");
    run(&d, 3 * USEC_PER_SEC);
    while (!engine_is_blocked(d.engine, &why))
        await_news(&d);
    assert_int_equal(why.code, E_IO);
    assert_int_equal(d.answers, 2);
    submit(&d, "d");
    run(&d, 4 * USEC_PER_SEC);
    assert_int_equal(d.answers, 3);
    assert_int_equal(d.last_rc, E_AGAIN);
    assert_true(fault_vfs_disarm() > 0);
    make_room(&d);
    await_durable(&d);
    assert_false(engine_is_blocked(d.engine, NULL));
    assert_int_equal(d.answers, 4);
    assert_int_equal(d.last_rc, 0);
    daemon_release(&d);
}

static void a_reader_replays_the_journal_of_a_living_daemon(void **state)
{
    const struct replay_options options = {.decide = true, .check = true};
    struct store_reader *reader = NULL;
    struct replay_source source;
    struct replay_report report;
    struct daemon d;
    uint64_t digest;

    (void)state;
    daemon_init(&d);
    digest = live(&d);
    assert_int_equal(store_reader_open(d.dir, NULL, &reader, NULL), 0);
    source = (struct replay_source){.ctx = reader, .next = store_reader_next};
    assert_int_equal(replay_run(&options, &source, &report, NULL), 0);
    assert_int_equal(report.digest, digest);
    assert_int_equal(report.different, 0);
    store_reader_free(reader);
    daemon_release(&d);
}

static int64_t count(const struct daemon *d, const char *statement)
{
    char path[DIR_MAX + 32];
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = NULL;
    int64_t n;

    (void)snprintf(path, sizeof path, "%s/state.db", d->dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, statement, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    n = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return n;
}

/* Jobs of which each ends a day after the one before; a snapshot after each. */
static void live_for_days(struct daemon *d, int days)
{
    for (int day = 1; day <= days; day++) {
        struct event cancel = {.kind = EVENT_CANCEL, .job = (uint32_t)day};

        submit(d, "a");
        run(d, day * USEC_PER_DAY);
        assert_int_equal(engine_post(d->engine, &cancel, NULL, NULL), 0);
        run(d, day * USEC_PER_DAY + USEC_PER_SEC);
        assert_int_equal(engine_snapshot(d->engine), 0);
        await_durable(d);
    }
}

static void replay_from_what_is_left(const struct daemon *d, uint64_t digest)
{
    struct replay_options options = {.decide = true, .check = true};
    struct store_reader *reader = NULL;
    struct replay_source source;
    struct replay_report report;
    const char *text = NULL;
    char *copy;

    assert_int_equal(store_reader_open(d->dir, NULL, &reader, NULL), 0);
    assert_int_equal(store_reader_snapshot(reader, STORE_SNAPSHOTS_KEPT - 1,
                                           &options.snapshot_seq, &text,
                                           &options.snapshot_len, NULL),
                     1);
    copy = strdup(text);
    options.snapshot = copy;
    store_reader_seek(reader, options.snapshot_seq);
    source = (struct replay_source){.ctx = reader, .next = store_reader_next};
    assert_int_equal(replay_run(&options, &source, &report, NULL), 0);
    assert_int_equal(report.digest, digest);
    assert_true(report.rows > 0);
    store_reader_free(reader);
    free(copy);
}

static void what_recovery_does_not_need_is_removed_and_the_rest_replays(void **state)
{
    struct store_recovery recovery;
    struct daemon d;
    uint64_t digest;
    int64_t seq;

    (void)state;
    daemon_init(&d);
    daemon_stop(&d);
    d.keep = (struct store_options){.keep_rows = 1, .keep_ended = 3};
    assert_int_equal(daemon_start(&d, NULL, NULL), 0);
    live_for_days(&d, 20);
    digest = digest_of(&d);
    seq = engine_seq(d.engine);
    daemon_stop(&d);
    assert_true(seq >= 40);
    assert_true(count(&d, "SELECT count(*) FROM \"row\"") <= 8);
    assert_int_equal(count(&d, "SELECT count(*) FROM ended"), 3);
    assert_int_equal(count(&d, "SELECT count(DISTINCT job) FROM fact"), 3);
    assert_int_equal(count(&d, "SELECT min(job) FROM fact"), 18);
    assert_int_equal(d.forgotten, 17); /* each once */
    assert_int_equal(d.newest_forgotten, 17);
    replay_from_what_is_left(&d, digest);
    assert_int_equal(daemon_start(&d, &recovery, NULL), 0);
    assert_int_equal(digest_of(&d), digest);
    assert_int_equal(engine_seq(d.engine), seq);
    live_for_days(&d, 0);
    daemon_release(&d);
}

static void ended_jobs_are_forgotten_by_their_age(void **state)
{
    struct daemon d;

    (void)state;
    daemon_init(&d);
    daemon_stop(&d);
    d.keep = (struct store_options){.keep_us = 5 * USEC_PER_DAY};
    assert_int_equal(daemon_start(&d, NULL, NULL), 0);
    live_for_days(&d, 12);
    daemon_stop(&d);
    assert_int_equal(count(&d, "SELECT min(job) FROM fact"), 8);
    assert_int_equal(d.newest_forgotten, 7);
    /* By default everything is kept, the newest rows as well. */
    assert_int_equal(count(&d, "SELECT min(seq) FROM \"row\""), 1);
    assert_int_equal(daemon_start(&d, NULL, NULL), 0);
    daemon_release(&d);
}

static void a_state_of_the_first_format_learns_when_its_jobs_ended(void **state)
{
    struct daemon d;

    (void)state;
    daemon_init(&d);
    live_for_days(&d, 3);
    daemon_stop(&d);
    meddle(&d, "DROP TABLE ended");
    meddle(&d, "PRAGMA user_version = 1");
    assert_int_equal(daemon_start(&d, NULL, NULL), 0);
    daemon_stop(&d);
    assert_int_equal(count(&d, "SELECT count(*) FROM ended"), 3);
    assert_int_equal(count(&d, "SELECT max(time_us) FROM ended"),
                     3 * USEC_PER_DAY + USEC_PER_SEC);
    assert_int_equal(daemon_start(&d, NULL, NULL), 0);
    daemon_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_gives_the_same_state_from_snapshot_and_rows),
        cmocka_unit_test(a_snapshot_that_cannot_be_read_is_stepped_over),
        cmocka_unit_test(a_row_whose_time_is_wrong_is_named_and_nothing_starts),
        cmocka_unit_test(a_gap_in_the_rows_is_named_and_nothing_starts),
        cmocka_unit_test(a_full_disk_refuses_submits_until_it_has_room),
        cmocka_unit_test(what_recovery_does_not_need_is_removed_and_the_rest_replays),
        cmocka_unit_test(ended_jobs_are_forgotten_by_their_age),
        cmocka_unit_test(a_state_of_the_first_format_learns_when_its_jobs_ended),
        cmocka_unit_test(a_reader_replays_the_journal_of_a_living_daemon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
