/* SPDX-License-Identifier: Apache-2.0 */
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
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "store/network.h"
#include "store/reader.h"
#include "support/fault_vfs.h"

#define DIR_MAX 256

/* A store in a directory of its own, and a way to wait for it without sleeping. */
struct bench {
    char dir[DIR_MAX];
    struct store *store;
    struct engine_store_port port;
    int64_t seq;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    long n_notes;
    long n_pauses;     /* times that the writer asked to wait before it tries again */
    long pauses_given; /* ... and may go on */
    struct store_options options;
};

static void on_notify(void *arg)
{
    struct bench *b = arg;

    (void)pthread_mutex_lock(&b->mutex);
    b->n_notes++;
    (void)pthread_cond_broadcast(&b->cond);
    (void)pthread_mutex_unlock(&b->mutex);
}

/* Stands in for the timed wait: the test says when the writer may try again. */
static void on_pause(void *arg, int attempt)
{
    struct bench *b = arg;

    (void)pthread_mutex_lock(&b->mutex);
    b->n_pauses++;
    (void)pthread_cond_broadcast(&b->cond);
    while (b->pauses_given < b->n_pauses)
        (void)pthread_cond_wait(&b->cond, &b->mutex);
    (void)pthread_mutex_unlock(&b->mutex);
    (void)attempt;
}

static void give_pauses(struct bench *b, long n)
{
    (void)pthread_mutex_lock(&b->mutex);
    b->pauses_given += n;
    (void)pthread_cond_broadcast(&b->cond);
    (void)pthread_mutex_unlock(&b->mutex);
}

static void await_pauses(struct bench *b, long n)
{
    (void)pthread_mutex_lock(&b->mutex);
    while (b->n_pauses < n)
        (void)pthread_cond_wait(&b->cond, &b->mutex);
    (void)pthread_mutex_unlock(&b->mutex);
}

static void await_durable(struct bench *b, int64_t seq)
{
    struct store_progress progress;
    long seen = -1;

    for (;;) {
        (void)pthread_mutex_lock(&b->mutex);
        while (b->n_notes == seen)
            (void)pthread_cond_wait(&b->cond, &b->mutex);
        seen = b->n_notes;
        (void)pthread_mutex_unlock(&b->mutex);
        store_get_progress(b->store, &progress);
        if (progress.durable_seq >= seq)
            return;
    }
}

static int bench_open(struct bench *b, struct err *err)
{
    int rc = store_open(&b->options, &b->store, err);

    if (rc == 0)
        b->port = store_port(b->store);
    return rc;
}

static void bench_init(struct bench *b)
{
    const char *base = getenv("TMPDIR");

    *b = (struct bench){0};
    (void)pthread_mutex_init(&b->mutex, NULL);
    (void)pthread_cond_init(&b->cond, NULL);
    (void)snprintf(b->dir, sizeof b->dir, "%s/elastane-store-XXXXXX",
                   base ? base : "/tmp");
    assert_non_null(mkdtemp(b->dir));
    fault_vfs_register();
    b->options = (struct store_options){.dir = b->dir,
                                        .holder = "store_test",
                                        .notify = on_notify,
                                        .notify_arg = b,
                                        .vfs = FAULT_VFS_NAME,
                                        .pause = on_pause,
                                        .pause_arg = b};
    assert_int_equal(bench_open(b, NULL), 0);
}

static void remove_file(const struct bench *b, const char *name)
{
    char path[DIR_MAX + 32];

    (void)snprintf(path, sizeof path, "%s/%s", b->dir, name);
    (void)unlink(path);
}

static void bench_release(struct bench *b)
{
    assert_int_equal(store_close(b->store, NULL), 0);
    remove_file(b, "state.db");
    remove_file(b, "state.db-wal");
    remove_file(b, "state.db-shm");
    remove_file(b, "state.db-journal");
    remove_file(b, "lock");
    assert_int_equal(rmdir(b->dir), 0);
    (void)pthread_cond_destroy(&b->cond);
    (void)pthread_mutex_destroy(&b->mutex);
}

static int put(struct bench *b, const struct engine_fact *facts, size_t n_facts)
{
    char changes[64];
    struct engine_row row = {.seq = b->seq + 1,
                             .time_us = 1000 * (b->seq + 1),
                             .kind = "plan",
                             .input = "{\"kind\":\"plan\"}",
                             .changes = changes,
                             .kind_version = 1,
                             .rules = 3,
                             .facts = facts,
                             .n_facts = n_facts};
    int rc;

    (void)snprintf(changes, sizeof changes, "[%lld]", (long long)row.seq);
    rc = b->port.append(b->port.ctx, &row);
    if (rc == 0)
        b->seq++;
    return rc;
}

static void put_rows(struct bench *b, int n)
{
    for (int i = 0; i < n; i++)
        assert_int_equal(put(b, NULL, 0), 0);
}

/* Reads all rows after the given one; every one must be as put() made it. Returns the
 * number of the last. */
static int64_t read_rows(const struct bench *b, int64_t after_seq)
{
    struct store_reader *reader = NULL;
    struct engine_row row;
    int64_t seq = after_seq;
    char changes[64];
    int rc;

    assert_int_equal(store_reader_open(b->dir, NULL, &reader, NULL), 0);
    store_reader_seek(reader, after_seq);
    while ((rc = store_reader_next(reader, &row, NULL)) == 1) {
        assert_int_equal(row.seq, ++seq);
        (void)snprintf(changes, sizeof changes, "[%lld]", (long long)seq);
        assert_string_equal(row.changes, changes);
        assert_string_equal(row.kind, "plan");
        assert_int_equal(row.time_us, 1000 * seq);
        assert_int_equal(row.rules, 3);
    }
    assert_int_equal(rc, 0);
    store_reader_free(reader);
    return seq;
}

static void rows_come_back_in_order_after_a_reopen(void **state)
{
    struct bench b;
    struct store_progress progress;

    (void)state;
    bench_init(&b);
    put_rows(&b, 500);
    await_durable(&b, 500);
    assert_int_equal(read_rows(&b, 0), 500); /* while the writer lives */
    put_rows(&b, 200);
    assert_int_equal(store_close(b.store, NULL), 0); /* a clean close drains the queue */
    assert_int_equal(bench_open(&b, NULL), 0);
    store_get_progress(b.store, &progress);
    assert_int_equal(progress.durable_seq, 700);
    assert_int_equal(progress.appended_seq, 700);
    put_rows(&b, 1);
    await_durable(&b, 701);
    assert_int_equal(read_rows(&b, 650), 701);
    bench_release(&b);
}

static void what_waits_is_written_in_one_commit(void **state)
{
    struct store_progress progress;
    struct bench b;

    (void)state;
    bench_init(&b);
    fault_vfs_arm(FAULT_FULL, 1, true);
    put_rows(&b, 1);
    await_pauses(&b, 1); /* the writer is held: all that follows gathers */
    put_rows(&b, 1000);
    (void)fault_vfs_disarm();
    give_pauses(&b, 1);
    await_durable(&b, 1001);
    store_get_progress(b.store, &progress);
    assert_int_equal(progress.commits, 2);
    bench_release(&b);
}

static void a_full_disk_is_reported_and_nothing_is_lost(void **state)
{
    struct store_progress progress;
    struct bench b;

    (void)state;
    bench_init(&b);
    put_rows(&b, 3);
    await_durable(&b, 3);
    fault_vfs_arm(FAULT_FULL, 1, true);
    put_rows(&b, 5);
    await_pauses(&b, 1);
    put_rows(&b, 5);
    for (long i = 1; i < 4; i++) {
        give_pauses(&b, 1);
        await_pauses(&b, i + 1);
    }
    store_get_progress(b.store, &progress);
    assert_true(progress.is_failing);
    assert_int_equal(progress.why.code, E_IO);
    assert_true(progress.why.text[0] != '\0');
    assert_int_equal(progress.failures, 4);
    assert_int_equal(progress.durable_seq, 3);
    assert_int_equal(read_rows(&b, 0), 3);
    assert_true(fault_vfs_disarm() > 0);
    give_pauses(&b, 1);
    await_durable(&b, 13);
    store_get_progress(b.store, &progress);
    assert_false(progress.is_failing);
    assert_int_equal(read_rows(&b, 0), 13);
    bench_release(&b);
}

static void a_fault_at_any_write_leaves_every_row_once(void **state)
{
    (void)state;
    for (long nth = 1;; nth++) {
        struct bench b;
        long faults;

        bench_init(&b);
        give_pauses(&b, 1000);
        fault_vfs_arm(FAULT_FULL, nth, false);
        for (int i = 0; i < 4; i++) {
            put_rows(&b, 3);
            await_durable(&b, b.seq);
        }
        faults = fault_vfs_disarm();
        assert_int_equal(read_rows(&b, 0), 12);
        bench_release(&b);
        if (faults == 0)
            break;
    }
}

static void a_store_that_cannot_write_says_so_when_it_is_closed(void **state)
{
    struct err err = {0};
    struct bench b;

    (void)state;
    bench_init(&b);
    put_rows(&b, 2);
    await_durable(&b, 2);
    fault_vfs_arm(FAULT_FULL, 1, true);
    put_rows(&b, 7);
    give_pauses(&b, 1000);
    assert_int_equal(store_close(b.store, &err), E_IO);
    assert_non_null(strstr(err.text, "7 rows"));
    (void)fault_vfs_disarm();
    assert_int_equal(bench_open(&b, NULL), 0);
    assert_int_equal(read_rows(&b, 0), 2);
    bench_release(&b);
}

static void snapshots_are_kept_two_and_given_newest_first(void **state)
{
    struct store_reader *reader = NULL;
    const char *text = NULL;
    int64_t seq = 0;
    size_t len = 0;
    struct bench b;

    (void)state;
    bench_init(&b);
    for (int i = 1; i <= 4; i++) {
        put_rows(&b, 2);
        (void)b.port.snapshot(b.port.ctx, b.seq, "{\"state\":8}", 10 + (i == 4));
    }
    assert_int_equal(store_close(b.store, NULL), 0);
    assert_int_equal(bench_open(&b, NULL), 0);
    assert_int_equal(store_reader_open(b.dir, NULL, &reader, NULL), 0);
    assert_int_equal(store_reader_snapshot(reader, 0, &seq, &text, &len, NULL), 1);
    assert_int_equal(seq, 8);
    assert_int_equal(len, 11);
    assert_memory_equal(text, "{\"state\":8}", len);
    assert_int_equal(store_reader_snapshot(reader, 1, &seq, &text, &len, NULL), 1);
    assert_int_equal(seq, 6);
    assert_int_equal(len, 10);
    assert_int_equal(store_reader_snapshot(reader, 2, &seq, &text, &len, NULL), 0);
    store_reader_free(reader);
    bench_release(&b);
}

struct facts_seen {
    struct store_fact last;
    int64_t first_id;
    int n;
};

static int count_fact(void *arg, const struct store_fact *fact)
{
    struct facts_seen *seen = arg;

    if (seen->n++ == 0)
        seen->first_id = fact->id;
    seen->last = *fact;
    seen->last.json = NULL;
    return 0;
}

static void facts_are_found_by_job_and_ended_jobs_by_page(void **state)
{
    struct store_reader *reader = NULL;
    struct store_page page = {.limit = 100};
    struct facts_seen seen = {0};
    struct bench b;

    (void)state;
    bench_init(&b);
    for (uint32_t job = 1; job <= 5; job++) {
        struct engine_fact facts[] = {
            {.kind = ENGINE_FACT_JOB, .job = job, .json = "{}"},
            {.kind = ENGINE_FACT_HISTORY, .job = job, .json = "{\"n\":1}"},
            {.kind = ENGINE_FACT_END, .job = job, .json = "{\"end\":1}"},
        };

        assert_int_equal(put(&b, facts, job == 3 ? 2 : 3), 0);
    }
    await_durable(&b, b.seq);
    assert_int_equal(store_reader_open(b.dir, NULL, &reader, NULL), 0);
    assert_int_equal(store_reader_facts(reader, 2, &page, count_fact, &seen, NULL), 3);
    assert_int_equal(seen.last.kind, ENGINE_FACT_END);
    assert_int_equal(seen.last.seq, 2);
    page.from_id = seen.first_id;
    assert_int_equal(store_reader_facts(reader, 2, &page, count_fact, &seen, NULL), 2);
    assert_int_equal(store_reader_facts(reader, 9, &page, count_fact, &seen, NULL), 0);
    page = (struct store_page){.limit = 3};
    assert_int_equal(store_reader_ended(reader, &page, count_fact, &seen, NULL), 3);
    assert_int_equal(seen.last.job, 2); /* 5, 4, 2 */
    page.from_id = seen.last.id;
    assert_int_equal(store_reader_ended(reader, &page, count_fact, &seen, NULL), 1);
    assert_int_equal(seen.last.job, 1);
    store_reader_free(reader);
    bench_release(&b);
}

static void a_second_owner_is_refused_by_the_name_of_the_first(void **state)
{
    struct store_options options;
    struct store *second = NULL;
    struct err err = {0};
    char pid[32];
    struct bench b;

    (void)state;
    bench_init(&b);
    options = b.options;
    options.holder = "another";
    assert_int_equal(store_open(&options, &second, &err), E_BUSY);
    (void)snprintf(pid, sizeof pid, "pid %ld", (long)getpid());
    assert_non_null(strstr(err.text, "store_test"));
    assert_non_null(strstr(err.text, pid));
    assert_int_equal(store_close(b.store, NULL), 0);
    assert_int_equal(store_open(&options, &second, &err), 0);
    assert_int_equal(store_close(second, NULL), 0);
    assert_int_equal(bench_open(&b, NULL), 0);
    bench_release(&b);
}

static mode_t mode_of(const struct bench *b, const char *name)
{
    char path[DIR_MAX + 32];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/%s", b->dir, name);
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void files_are_the_owners_alone(void **state)
{
    struct err err = {0};
    struct bench b;
    mode_t old = umask(0);

    (void)state;
    bench_init(&b);
    put_rows(&b, 1);
    await_durable(&b, 1);
    assert_int_equal(mode_of(&b, "state.db"), 0600);
    assert_int_equal(mode_of(&b, "state.db-wal"), 0600);
    assert_int_equal(mode_of(&b, "lock"), 0600);
    assert_int_equal(store_close(b.store, NULL), 0);
    assert_int_equal(chmod(b.dir, 0770), 0);
    assert_int_equal(bench_open(&b, &err), E_DENIED);
    assert_int_equal(chmod(b.dir, 0700), 0);
    assert_int_equal(bench_open(&b, NULL), 0);
    bench_release(&b);
    (void)umask(old);
}

/* Runs a statement on the closed store's file. */
static void meddle(const struct bench *b, const char *statement)
{
    char path[DIR_MAX + 32];
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = NULL;

    (void)snprintf(path, sizeof path, "%s/state.db", b->dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, statement, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_newer_format_is_refused_by_name(void **state)
{
    struct store_reader *reader = NULL;
    struct err err = {0};
    struct bench b;

    (void)state;
    bench_init(&b);
    assert_int_equal(store_close(b.store, NULL), 0);
    meddle(&b, "PRAGMA user_version = 99");
    assert_int_equal(bench_open(&b, &err), E_VERSION);
    assert_non_null(strstr(err.text, "format 99"));
    assert_int_equal(store_reader_open(b.dir, NULL, &reader, &err), E_VERSION);
    meddle(&b, "PRAGMA user_version = 2");
    assert_int_equal(bench_open(&b, &err), 0);
    bench_release(&b);
}

static void a_file_of_another_program_is_left_alone(void **state)
{
    struct err err = {0};
    struct bench b;

    (void)state;
    bench_init(&b);
    assert_int_equal(store_close(b.store, NULL), 0);
    meddle(&b, "PRAGMA application_id = 7");
    assert_int_equal(bench_open(&b, &err), E_CORRUPT);
    assert_non_null(strstr(err.text, "another program"));
    meddle(&b, "PRAGMA application_id = 0x456c7374");
    assert_int_equal(bench_open(&b, &err), 0);
    bench_release(&b);
}

static void a_missing_row_is_named(void **state)
{
    struct store_reader *reader = NULL;
    struct engine_row row;
    struct err err = {0};
    struct bench b;

    (void)state;
    bench_init(&b);
    put_rows(&b, 10);
    assert_int_equal(store_close(b.store, NULL), 0);
    meddle(&b, "DELETE FROM \"row\" WHERE seq = 4");
    assert_int_equal(bench_open(&b, NULL), 0);
    assert_int_equal(store_reader_open(b.dir, NULL, &reader, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(store_reader_next(reader, &row, &err), 1);
    assert_int_equal(store_reader_next(reader, &row, &err), E_CORRUPT);
    assert_non_null(strstr(err.text, "row 4 is missing"));
    store_reader_free(reader);
    bench_release(&b);
}

static void a_place_without_a_state_is_not_found_or_empty(void **state)
{
    struct store_reader *reader = NULL;
    struct err err = {0};

    (void)state;
    assert_true(store_reader_open("/nonexistent", NULL, &reader, &err) < 0);
    assert_non_null(strstr(err.text, "/nonexistent"));
}

/* In the child: waves of rows, each reported to the parent once it is durable. */
static void append_and_report(struct bench *b, int report_fd)
{
    for (int i = 0; i < 6; i++) {
        put_rows(b, 1 + i % 3);
        if (i == 3)
            (void)b->port.snapshot(b->port.ctx, b->seq, "{}", 2);
        await_durable(b, b->seq);
        if (write(report_fd, &b->seq, sizeof b->seq) != (ssize_t)sizeof b->seq)
            _exit(1);
    }
    (void)store_close(b->store, NULL);
    _exit(0);
}

/* Lets a child crash at its nth write or sync. Returns its exit status, and the newest
 * row that it reported. */
static int crash_child(struct bench *b, long nth, int64_t *ret_reported)
{
    int64_t seq = 0;
    int fds[2];
    int status = 0;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(fds[0]);
        fault_vfs_arm(FAULT_CRASH, nth, false);
        if (bench_open(b, NULL) < 0)
            _exit(2);
        append_and_report(b, fds[1]);
    }
    (void)close(fds[1]);
    *ret_reported = 0;
    while (read(fds[0], &seq, sizeof seq) == (ssize_t)sizeof seq)
        *ret_reported = seq;
    (void)close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_power_cut_at_any_write_loses_nothing_that_was_durable(void **state)
{
    int status = FAULT_VFS_STATUS;

    (void)state;
    for (long nth = 1; status == FAULT_VFS_STATUS; nth++) {
        int64_t reported = 0;
        int64_t found;
        struct bench b;

        bench_init(&b);
        assert_int_equal(store_close(b.store, NULL), 0);
        if (nth % 2 == 0)
            remove_file(&b, "state.db"); /* every other time the file is new */
        status = crash_child(&b, nth, &reported);
        assert_int_equal(bench_open(&b, NULL), 0);
        found = read_rows(&b, 0);
        if (found < reported)
            fail_msg("crash %ld: row %lld was durable, row %lld is the last", nth,
                     (long long)reported, (long long)found);
        b.seq = found;
        put_rows(&b, 1); /* and it goes on */
        await_durable(&b, found + 1);
        bench_release(&b);
    }
    assert_int_equal(status, 0);
}

static void a_kill_from_outside_loses_nothing_that_was_durable(void **state)
{
    int64_t seq = 0;
    int64_t reported = 0;
    struct bench b;
    int fds[2];
    pid_t pid;

    (void)state;
    bench_init(&b);
    assert_int_equal(store_close(b.store, NULL), 0);
    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(fds[0]);
        if (bench_open(&b, NULL) < 0)
            _exit(2);
        for (;;) {
            put_rows(&b, 4);
            await_durable(&b, b.seq);
            if (write(fds[1], &b.seq, sizeof b.seq) != (ssize_t)sizeof b.seq)
                _exit(1);
        }
    }
    (void)close(fds[1]);
    for (int i = 0; i < 20; i++)
        assert_int_equal(read(fds[0], &seq, sizeof seq), sizeof seq);
    (void)kill(pid, SIGKILL);
    reported = seq;
    while (read(fds[0], &seq, sizeof seq) == (ssize_t)sizeof seq)
        reported = seq;
    (void)close(fds[0]);
    (void)waitpid(pid, NULL, 0);
    assert_int_equal(bench_open(&b, NULL), 0);
    assert_true(read_rows(&b, 0) >= reported);
    bench_release(&b);
}

static void file_systems_that_machines_share_are_known(void **state)
{
    static const uint32_t shared[] = {0x6969,     0xff534d42, 0xfe534d42, 0x0bd00bd0,
                                      0x47504653, 0x19830326, 0x5346414f, 0x00c36400,
                                      0x01021997, 0x65735546};
    static const uint32_t own[] = {0xef53 /* ext4 */,        0x58465342 /* xfs */,
                                   0x9123683e /* btrfs */,   0x01021994 /* tmpfs */,
                                   0x794c7630 /* overlay */, 0x2fc12fc1 /* zfs */};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(shared); i++)
        assert_non_null(network_type_name(shared[i]));
    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        assert_null(network_type_name(own[i]));
    assert_null(network_of("/no such place"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_in_order_after_a_reopen),
        cmocka_unit_test(what_waits_is_written_in_one_commit),
        cmocka_unit_test(a_full_disk_is_reported_and_nothing_is_lost),
        cmocka_unit_test(a_fault_at_any_write_leaves_every_row_once),
        cmocka_unit_test(a_store_that_cannot_write_says_so_when_it_is_closed),
        cmocka_unit_test(snapshots_are_kept_two_and_given_newest_first),
        cmocka_unit_test(facts_are_found_by_job_and_ended_jobs_by_page),
        cmocka_unit_test(a_second_owner_is_refused_by_the_name_of_the_first),
        cmocka_unit_test(files_are_the_owners_alone),
        cmocka_unit_test(a_newer_format_is_refused_by_name),
        cmocka_unit_test(a_file_of_another_program_is_left_alone),
        cmocka_unit_test(a_missing_row_is_named),
        cmocka_unit_test(a_place_without_a_state_is_not_found_or_empty),
        cmocka_unit_test(a_power_cut_at_any_write_loses_nothing_that_was_durable),
        cmocka_unit_test(file_systems_that_machines_share_are_known),
        cmocka_unit_test(a_kill_from_outside_loses_nothing_that_was_durable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
