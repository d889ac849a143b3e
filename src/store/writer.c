/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - group commit in one thread.
 *
 * The queue and the progress are shared, under one mutex; the connection and the batch
 * are the thread's own, so the disk is never waited for with the mutex held. While one
 * batch is being made durable the next one gathers, and so the size of a commit follows
 * the load by itself. Invariants:
 *   1. durable_seq rises only after COMMIT said yes under synchronous=FULL.
 *   2. A batch that failed is written again as it was, before anything younger.
 *   3. A snapshot is written after the rows that came before it, in a commit of its own;
 *      one that cannot be written is dropped, since the rows suffice.
 *      After each, what need not be kept any more is removed (prune.h).
 *   4. No batch is written while the state is not where it was opened (guard.h).
 *   5. notify is called after every change of the progress, without the mutex. */
#include "store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/mem.h"
#include "store/guard.h"
#include "store/item.h"
#include "store/prune.h"
#include "store/reader.h"
#include "store/sql.h"

enum statement {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_ROW,
    SQL_FACT,
    SQL_ENDED,
    SQL_SNAPSHOT,
    SQL_THIN,
    SQL_STATEMENT_MAX
};

static const char *const statements[SQL_STATEMENT_MAX] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_ROW] = "INSERT INTO \"row\"(seq, time_us, kind, kind_version, rules, input, "
                "changes) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [SQL_FACT] = "INSERT INTO fact(seq, job, kind, json) VALUES(?1, ?2, ?3, ?4)",
    [SQL_ENDED] = "INSERT OR REPLACE INTO ended(job, time_us) VALUES(?1, ?2)",
    [SQL_SNAPSHOT] = "INSERT OR REPLACE INTO snapshot(seq, text) VALUES(?1, ?2)",
    [SQL_THIN] = "DELETE FROM snapshot WHERE seq NOT IN "
                 "(SELECT seq FROM snapshot ORDER BY seq DESC LIMIT ?1)",
};

struct writer {
    /* The thread's own. */
    sqlite3 *db;
    sqlite3_stmt *stmts[SQL_STATEMENT_MAX];
    struct item_list batch;
    struct guard guard;
    int (*before_commit)(void *arg, struct err *err);
    void *before_commit_arg;
    struct store_options options;
    /* The caller's own. */
    pthread_t thread;
    int64_t appended_seq;
    /* Shared. */
    pthread_mutex_t mutex;
    pthread_cond_t cond; /* the queue is no longer empty, or is_stopping was set */
    struct item_list queue;
    bool is_stopping;
    struct store_progress progress;
};

static int run(struct writer *w, enum statement s, const char *what, struct err *err)
{
    return sql_step(w->db, w->stmts[s], what, err);
}

static int write_ended(struct writer *w, usec_t time_us, uint32_t job, struct err *err)
{
    sqlite3_stmt *stmt = w->stmts[SQL_ENDED];

    (void)sqlite3_bind_int64(stmt, 1, job);
    (void)sqlite3_bind_int64(stmt, 2, time_us);
    return run(w, SQL_ENDED, "ended job", err);
}

static int write_fact(struct writer *w, const struct engine_row *row,
                      const struct engine_fact *fact, struct err *err)
{
    sqlite3_stmt *stmt = w->stmts[SQL_FACT];
    int rc;

    (void)sqlite3_bind_int64(stmt, 1, row->seq);
    (void)sqlite3_bind_int64(stmt, 2, fact->job);
    (void)sqlite3_bind_text(stmt, 3, store_fact_kind_name(fact->kind), -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(stmt, 4, fact->json, -1, SQLITE_STATIC);
    rc = run(w, SQL_FACT, "fact", err);
    if (rc == 0 && fact->kind == ENGINE_FACT_END)
        rc = write_ended(w, row->time_us, fact->job, err);
    return rc;
}

static int write_row(struct writer *w, const struct engine_row *row, struct err *err)
{
    sqlite3_stmt *stmt = w->stmts[SQL_ROW];
    int rc;

    (void)sqlite3_bind_int64(stmt, 1, row->seq);
    (void)sqlite3_bind_int64(stmt, 2, row->time_us);
    (void)sqlite3_bind_text(stmt, 3, row->kind, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int(stmt, 4, row->kind_version);
    (void)sqlite3_bind_int(stmt, 5, row->rules);
    (void)sqlite3_bind_text64(stmt, 6, row->input, strlen(row->input), SQLITE_STATIC,
                              SQLITE_UTF8);
    (void)sqlite3_bind_text64(stmt, 7, row->changes, strlen(row->changes), SQLITE_STATIC,
                              SQLITE_UTF8);
    rc = run(w, SQL_ROW, "row", err);
    for (size_t i = 0; i < row->n_facts && rc == 0; i++)
        rc = write_fact(w, row, &row->facts[i], err);
    return rc;
}

/* Ends a transaction that failed at any point, COMMIT included. */
static void roll_back(struct writer *w)
{
    if (!sqlite3_get_autocommit(w->db))
        (void)run(w, SQL_ROLLBACK, "rollback", NULL);
}

static int write_rows(struct writer *w, struct err *err)
{
    int rc = guard_check(&w->guard, err);

    if (rc == 0 && w->before_commit)
        rc = w->before_commit(w->before_commit_arg, err);
    if (rc < 0)
        return rc;
    rc = run(w, SQL_BEGIN, "begin", err);
    for (const struct item *it = w->batch.first; it && rc == 0; it = it->next)
        if (!it->is_snapshot)
            rc = write_row(w, &it->row, err);
    if (rc == 0)
        rc = run(w, SQL_COMMIT, "commit", err);
    if (rc < 0)
        roll_back(w);
    return rc;
}

static int write_snapshot(struct writer *w, const struct item *it)
{
    sqlite3_stmt *stmt = w->stmts[SQL_SNAPSHOT];
    int rc = run(w, SQL_BEGIN, "begin", NULL);

    (void)sqlite3_bind_int64(stmt, 1, it->seq);
    (void)sqlite3_bind_text64(stmt, 2, it->text, it->len, SQLITE_STATIC, SQLITE_UTF8);
    (void)sqlite3_bind_int(w->stmts[SQL_THIN], 1, STORE_SNAPSHOTS_KEPT);
    if (rc == 0)
        rc = run(w, SQL_SNAPSHOT, "snapshot", NULL);
    if (rc == 0)
        rc = run(w, SQL_THIN, "snapshot", NULL);
    if (rc == 0)
        rc = run(w, SQL_COMMIT, "snapshot", NULL);
    if (rc < 0)
        roll_back(w);
    return rc;
}

static void tell(struct writer *w)
{
    if (w->options.notify)
        w->options.notify(w->options.notify_arg);
}

static void note_success(struct writer *w, int64_t seq)
{
    (void)pthread_mutex_lock(&w->mutex);
    w->progress.durable_seq = seq;
    w->progress.commits++;
    w->progress.is_failing = false;
    (void)pthread_mutex_unlock(&w->mutex);
    tell(w);
}

static void note_failure(struct writer *w, const struct err *err)
{
    (void)pthread_mutex_lock(&w->mutex);
    w->progress.failures++;
    w->progress.is_failing = true;
    w->progress.why = *err;
    (void)pthread_mutex_unlock(&w->mutex);
    tell(w);
}

static void note_snapshot(struct writer *w, int rc)
{
    (void)pthread_mutex_lock(&w->mutex);
    if (rc == 0)
        w->progress.snapshots++;
    else
        w->progress.snapshot_losses++;
    (void)pthread_mutex_unlock(&w->mutex);
    tell(w);
}

static void take_snapshot(struct writer *w, const struct item *it)
{
    int rc = write_snapshot(w, it);

    if (rc == 0)
        prune_run(w->db, &w->options);
    note_snapshot(w, rc);
}

static bool is_stopping(struct writer *w)
{
    bool stopping;

    (void)pthread_mutex_lock(&w->mutex);
    stopping = w->is_stopping;
    (void)pthread_mutex_unlock(&w->mutex);
    return stopping;
}

static struct timespec deadline_after(usec_t span_us)
{
    struct timespec t;
    int64_t ns;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    ns = t.tv_nsec + span_us % USEC_PER_SEC * 1000;
    t.tv_sec += span_us / USEC_PER_SEC + ns / 1000000000;
    t.tv_nsec = ns % 1000000000;
    return t;
}

/* Until the next try, or until the store is closed. */
static void back_off(struct writer *w, int attempt)
{
    usec_t span_us = STORE_RETRY_FIRST_US;
    struct timespec deadline;
    int rc = 0;

    if (w->options.pause) {
        w->options.pause(w->options.pause_arg, attempt);
        return;
    }
    for (int i = 1; i < attempt && span_us < STORE_RETRY_LAST_US; i++)
        span_us *= 2;
    deadline = deadline_after(i64_min(span_us, STORE_RETRY_LAST_US));
    (void)pthread_mutex_lock(&w->mutex);
    while (!w->is_stopping && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&w->cond, &w->mutex, &deadline);
    (void)pthread_mutex_unlock(&w->mutex);
}

static int64_t last_row(const struct item_list *list)
{
    int64_t seq = 0;

    for (const struct item *it = list->first; it; it = it->next)
        if (!it->is_snapshot)
            seq = it->seq;
    return seq;
}

/* Returns false when the store is being closed and the batch cannot be written. */
static bool write_batch(struct writer *w)
{
    int64_t seq = last_row(&w->batch);

    for (int attempt = 1; seq > 0; attempt++) {
        bool is_last = is_stopping(w);
        struct err err = {0};

        if (write_rows(w, &err) == 0)
            break;
        note_failure(w, &err);
        if (is_last)
            return false;
        back_off(w, attempt);
    }
    if (seq > 0)
        note_success(w, seq);
    for (const struct item *it = w->batch.first; it; it = it->next)
        if (it->is_snapshot)
            take_snapshot(w, it);
    items_clear(&w->batch);
    return true;
}

/* Fills the batch; false when there is nothing left and the store is being closed. */
static bool take_batch(struct writer *w)
{
    (void)pthread_mutex_lock(&w->mutex);
    while (!w->queue.first && !w->is_stopping)
        (void)pthread_cond_wait(&w->cond, &w->mutex);
    items_move(&w->batch, &w->queue, (size_t)w->options.batch_max);
    (void)pthread_mutex_unlock(&w->mutex);
    return w->batch.first != NULL;
}

static void *thread_main(void *arg)
{
    struct writer *w = arg;

    while (take_batch(w))
        if (!write_batch(w))
            break;
    return NULL;
}

/* Signals belong to the loop: the thread is born with all of them blocked. */
static int start_thread(struct writer *w)
{
    sigset_t all;
    sigset_t old;
    int rc;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&w->thread, NULL, thread_main, w);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

static void finalize(struct writer *w)
{
    for (int i = 0; i < SQL_STATEMENT_MAX; i++)
        (void)sqlite3_finalize(w->stmts[i]);
}

static void init_shared(struct writer *w)
{
    pthread_condattr_t attr;

    (void)pthread_mutex_init(&w->mutex, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&w->cond, &attr);
    (void)pthread_condattr_destroy(&attr);
}

static void release_shared(struct writer *w)
{
    (void)pthread_cond_destroy(&w->cond);
    (void)pthread_mutex_destroy(&w->mutex);
}

int writer_new(sqlite3 *db, const struct store_options *options, int64_t last_seq,
               struct writer **ret, struct err *err)
{
    struct writer *w = mem_new(1, sizeof *w);
    int rc = 0;

    if (!w)
        return err_set(err, E_NOMEM, "out of memory");
    w->db = db;
    w->options = *options;
    if (w->options.batch_max < 1)
        w->options.batch_max = STORE_BATCH_MAX;
    w->appended_seq = last_seq;
    w->progress.durable_seq = last_seq;
    w->before_commit = options->before_commit;
    w->before_commit_arg = options->before_commit_arg;
    rc = guard_init(&w->guard, options->dir, err);
    for (int i = 0; i < SQL_STATEMENT_MAX && rc == 0; i++)
        rc = sql_prepare(db, statements[i], &w->stmts[i], err);
    if (rc < 0)
        goto fail;
    init_shared(w);
    if (start_thread(w) != 0) {
        release_shared(w);
        rc = err_set(err, E_AGAIN, "no thread can be started");
        goto fail;
    }
    *ret = w;
    return 0;
fail:
    finalize(w);
    guard_release(&w->guard);
    mem_free(w);
    return rc;
}

static int64_t count_rows(const struct item_list *list)
{
    int64_t n = 0;

    for (const struct item *it = list->first; it; it = it->next)
        n += !it->is_snapshot;
    return n;
}

int writer_free(struct writer *w, struct err *err)
{
    int64_t lost;
    int rc = 0;

    (void)pthread_mutex_lock(&w->mutex);
    w->is_stopping = true;
    (void)pthread_cond_broadcast(&w->cond);
    (void)pthread_mutex_unlock(&w->mutex);
    (void)pthread_join(w->thread, NULL);
    lost = count_rows(&w->batch) + count_rows(&w->queue);
    if (lost > 0)
        rc = err_set(err, E_IO, "%lld rows could not be written: %s", (long long)lost,
                     w->progress.why.text);
    items_clear(&w->batch);
    items_clear(&w->queue);
    finalize(w);
    (void)sqlite3_close(w->db);
    release_shared(w);
    guard_release(&w->guard);
    mem_free(w);
    return rc;
}

static void enqueue(struct writer *w, struct item *item)
{
    (void)pthread_mutex_lock(&w->mutex);
    items_put(&w->queue, item);
    (void)pthread_cond_signal(&w->cond);
    (void)pthread_mutex_unlock(&w->mutex);
}

int writer_append(struct writer *w, const struct engine_row *row)
{
    struct item *item;

    ASSERT(row->seq == w->appended_seq + 1);
    item = item_new_row(row);
    if (!item)
        return E_NOMEM;
    w->appended_seq = row->seq;
    enqueue(w, item);
    return 0;
}

int writer_snapshot(struct writer *w, int64_t seq, const char *text, size_t len)
{
    struct item *item;

    ASSERT(seq <= w->appended_seq);
    item = item_new_snapshot(seq, text, len);
    if (!item)
        return E_NOMEM;
    enqueue(w, item);
    return 0;
}

void writer_get_progress(struct writer *w, struct store_progress *ret)
{
    (void)pthread_mutex_lock(&w->mutex);
    *ret = w->progress;
    (void)pthread_mutex_unlock(&w->mutex);
    ret->appended_seq = w->appended_seq;
}
