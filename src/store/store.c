/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - opening, recovering, and the port to the engine.
 *
 * Order at the start: the lock first, so that nobody else writes; then the file with a
 * mode of its own, before SQLite could make it with the process's; then the tables; then
 * the writer. At the end the other way round. SQLite runs in WAL mode with
 * synchronous=FULL: a commit is on the disk when it returns. Where other machines share
 * the file system WAL does not work (network.h): there a rollback journal is kept, and a
 * commit waits for readers. A file that was in WAL mode is brought out of it alone, in
 * exclusive mode, which does without shared memory. */
#include "store/store.h"

#include "base/assert.h"
#include "base/mem.h"
#include "store/lock.h"
#include "store/network.h"
#include "store/reader.h"
#include "store/schema.h"
#include "store/sql.h"
#include "store/writer.h"

struct store {
    char *dir;
    char *vfs;           /* NULL: the default */
    const char *network; /* name of the file system, if machines share it; else NULL */
    struct writer *writer;
    int lock_fd;
    int64_t polled_seq;
    int64_t polled_failures;
};

#define BUSY_WAIT_MS 5000 /* a commit waits for readers, without WAL */

static const char pragmas[] = "PRAGMA journal_mode = WAL;"
                              "PRAGMA synchronous = FULL;"
                              "PRAGMA temp_store = MEMORY;"
                              "PRAGMA trusted_schema = OFF;";

static const char network_pragmas[] = "PRAGMA journal_mode = TRUNCATE;"
                                      "PRAGMA locking_mode = NORMAL;"
                                      "PRAGMA synchronous = FULL;"
                                      "PRAGMA temp_store = MEMORY;"
                                      "PRAGMA trusted_schema = OFF;"
                                      "SELECT count(*) FROM meta;"; /* lets go */

static int open_writer(const struct store_options *o, const char *network,
                       struct writer **ret, struct err *err)
{
    int64_t last_seq = 0;
    sqlite3 *db = NULL;
    int rc = lock_make_file(o->dir, SQL_FILE, err);

    if (rc == 0)
        rc = sql_open(o->dir, SQLITE_OPEN_READWRITE, o->vfs, &db, err);
    if (rc == 0 && network) {
        (void)sqlite3_busy_timeout(db, BUSY_WAIT_MS);
        rc = sql_run(db, "PRAGMA locking_mode = EXCLUSIVE", err);
    }
    if (rc == 0)
        rc = schema_migrate(db, err); /* first: it refuses a file that is not ours */
    if (rc == 0)
        rc = sql_run(db, network ? network_pragmas : pragmas, err);
    if (rc == 0)
        rc = schema_set_holder(db, o->holder, err);
    if (rc == 0)
        rc = sql_number(db, "SELECT coalesce(max(seq), 0) FROM \"row\"", &last_seq, err);
    if (rc == 0)
        rc = writer_new(db, o, last_seq, ret, err);
    if (rc < 0)
        (void)sqlite3_close(db);
    return rc;
}

static void free_shell(struct store *store)
{
    if (store->lock_fd >= 0)
        lock_give(store->lock_fd);
    mem_free(store->dir);
    mem_free(store->vfs);
    mem_free(store);
}

int store_open(const struct store_options *options, struct store **ret, struct err *err)
{
    struct store_progress progress;
    struct store *store = mem_new(1, sizeof *store);
    int rc = 0;

    ASSERT(options->dir);
    ASSERT(options->holder);
    if (!store)
        return err_set(err, E_NOMEM, "out of memory");
    store->lock_fd = -1;
    store->dir = mem_text(options->dir);
    if (options->vfs)
        store->vfs = mem_text(options->vfs);
    if (!store->dir || (options->vfs && !store->vfs))
        rc = err_set(err, E_NOMEM, "out of memory");
    if (rc == 0)
        rc = lock_make_dir(options->dir, err);
    if (rc == 0) {
        store->network = network_of(options->dir);
        store->lock_fd = lock_take(options->dir, options->holder, store->network, err);
        rc = i32_min(store->lock_fd, 0);
    }
    if (rc == 0)
        rc = open_writer(options, store->network, &store->writer, err);
    if (rc < 0) {
        free_shell(store);
        return rc;
    }
    writer_get_progress(store->writer, &progress);
    store->polled_seq = progress.durable_seq;
    *ret = store;
    return 0;
}

int store_close(struct store *store, struct err *err)
{
    int rc;

    if (!store)
        return 0;
    rc = writer_free(store->writer, err);
    free_shell(store);
    return rc;
}

/* Loads the newest snapshot that the engine can read, if there is any. */
static int load_snapshot(struct store_reader *reader, struct engine *engine,
                         struct store_recovery *recovery, struct err *err)
{
    for (int i = 0; i < STORE_SNAPSHOTS_KEPT; i++) {
        const char *text = NULL;
        size_t len = 0;
        int64_t seq = 0;
        int rc = store_reader_snapshot(reader, i, &seq, &text, &len, err);

        if (rc <= 0)
            return rc;
        rc = engine_load_snapshot(engine, seq, text, len, &recovery->skipped);
        if (rc == 0) {
            recovery->snapshot_seq = seq;
            return 0;
        }
        if (rc != E_CORRUPT)
            return err_set(err, rc, "snapshot %lld: %s", (long long)seq,
                           recovery->skipped.text);
        recovery->skipped_snapshots++;
    }
    return 0;
}

static int load_rows(struct store_reader *reader, struct engine *engine,
                     struct store_recovery *recovery, struct err *err)
{
    struct engine_row row;
    int rc;

    store_reader_seek(reader, recovery->snapshot_seq);
    while ((rc = store_reader_next(reader, &row, err)) > 0) {
        rc = engine_load_row(engine, &row, err);
        if (rc < 0)
            return rc;
        recovery->rows++;
    }
    return rc;
}

int store_recover(struct store *store, struct engine *engine, struct store_recovery *ret,
                  struct err *err)
{
    struct store_recovery recovery = {0};
    struct store_reader *reader = NULL;
    int64_t last_seq = 0;
    int rc = store_reader_open(store->dir, store->vfs, &reader, err);

    if (rc == 0)
        rc = store_reader_last_seq(reader, &last_seq, err);
    if (rc == 0)
        rc = load_snapshot(reader, engine, &recovery, err);
    if (rc == 0 && recovery.snapshot_seq > last_seq)
        rc = err_set(err, E_CORRUPT, "snapshot %lld is newer than the last row, %lld",
                     (long long)recovery.snapshot_seq, (long long)last_seq);
    if (rc == 0)
        rc = load_rows(reader, engine, &recovery, err);
    store_reader_free(reader);
    if (rc < 0)
        return rc;
    if (ret)
        *ret = recovery;
    return 0;
}

static int port_append(void *ctx, const struct engine_row *row)
{
    struct store *store = ctx;

    return writer_append(store->writer, row);
}

static int port_snapshot(void *ctx, int64_t seq, const char *text, size_t len)
{
    struct store *store = ctx;

    return writer_snapshot(store->writer, seq, text, len);
}

const char *store_network(const struct store *store)
{
    return store->network;
}

struct engine_store_port store_port(struct store *store)
{
    return (struct engine_store_port){
        .ctx = store, .append = port_append, .snapshot = port_snapshot};
}

void store_get_progress(struct store *store, struct store_progress *ret)
{
    writer_get_progress(store->writer, ret);
}

bool store_poll(struct store *store, struct engine *engine)
{
    struct store_progress progress;
    bool has_news;

    writer_get_progress(store->writer, &progress);
    has_news = progress.durable_seq > store->polled_seq ||
               progress.failures > store->polled_failures;
    store->polled_failures = progress.failures;
    if (progress.durable_seq > store->polled_seq) {
        store->polled_seq = progress.durable_seq;
        engine_committed(engine, progress.durable_seq);
    }
    if (has_news && progress.is_failing)
        engine_commit_failed(engine, &progress.why);
    return has_news;
}
