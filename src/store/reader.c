/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - see reader.h. A walk over rows is one SQLite statement and so sees one state
 * of the file, however much is written meanwhile; it is reset at its end, so that the
 * write-ahead log can be folded back. */
#include "store/reader.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/units.h"
#include "store/schema.h"
#include "store/sql.h"

/* Room is left for what is added to a time. */
#define ROW_TIME_MAX (INT64_MAX / 8)

#define BUSY_WAIT_MS 2000 /* for the moments at which the file is being set up */

static const char *const kind_names[ENGINE_FACT_KIND_MAX] = {
    [ENGINE_FACT_JOB] = "job",
    [ENGINE_FACT_HISTORY] = "history",
    [ENGINE_FACT_END] = "end",
};

struct store_reader {
    sqlite3 *db;
    sqlite3_stmt *rows;
    sqlite3_stmt *row_time;
    sqlite3_stmt *snapshot;
    sqlite3_stmt *facts;
    sqlite3_stmt *ended;
    sqlite3_stmt *ended_after;
    int64_t seq;   /* of the row that was read last */
    usec_t row_us; /* its time */
    bool is_walking;
};

const char *store_fact_kind_name(enum engine_fact_kind kind)
{
    ASSERT(kind < ENGINE_FACT_KIND_MAX);
    return kind_names[kind];
}

static enum engine_fact_kind kind_of(const char *name)
{
    unsigned i = 0;

    while (i < ENGINE_FACT_KIND_MAX && strcmp(name, kind_names[i]) != 0)
        i++;
    return (enum engine_fact_kind)i;
}

static int prepare_all(struct store_reader *r, struct err *err)
{
    int rc = sql_prepare(r->db,
                         "SELECT seq, time_us, kind, kind_version, rules, input, changes "
                         "FROM \"row\" WHERE seq > ?1 ORDER BY seq",
                         &r->rows, err);

    if (rc == 0)
        rc = sql_prepare(r->db, "SELECT time_us FROM \"row\" WHERE seq = ?1",
                         &r->row_time, err);
    if (rc == 0)
        rc = sql_prepare(r->db,
                         "SELECT seq, text FROM snapshot ORDER BY seq DESC LIMIT 1 "
                         "OFFSET ?1",
                         &r->snapshot, err);
    if (rc == 0)
        rc = sql_prepare(r->db,
                         "SELECT id, seq, job, kind, json FROM fact WHERE job = ?1 AND "
                         "id > ?2 ORDER BY id LIMIT ?3",
                         &r->facts, err);
    if (rc == 0)
        rc = sql_prepare(r->db,
                         "SELECT id, seq, job, kind, json FROM fact WHERE kind = 'end' "
                         "AND id < ?1 ORDER BY id DESC LIMIT ?2",
                         &r->ended, err);
    if (rc == 0)
        rc = sql_prepare(r->db,
                         "SELECT id, seq, job, kind, json FROM fact WHERE kind = 'end' "
                         "AND job > ?1 ORDER BY job LIMIT ?2",
                         &r->ended_after, err);
    return rc;
}

int store_reader_open(const char *dir, const char *vfs, struct store_reader **ret,
                      struct err *err)
{
    struct store_reader *r = mem_new(1, sizeof *r);
    int rc;

    if (!r)
        return err_set(err, E_NOMEM, "out of memory");
    rc = sql_open(dir, SQLITE_OPEN_READONLY, vfs, &r->db, err);
    if (rc == 0) {
        (void)sqlite3_busy_timeout(r->db, BUSY_WAIT_MS);
        rc = schema_check(r->db, err);
    }
    if (rc == 0)
        rc = prepare_all(r, err);
    if (rc < 0) {
        store_reader_free(r);
        return rc;
    }
    *ret = r;
    return 0;
}

void store_reader_free(struct store_reader *r)
{
    if (!r)
        return;
    (void)sqlite3_finalize(r->rows);
    (void)sqlite3_finalize(r->row_time);
    (void)sqlite3_finalize(r->snapshot);
    (void)sqlite3_finalize(r->facts);
    (void)sqlite3_finalize(r->ended);
    (void)sqlite3_finalize(r->ended_after);
    (void)sqlite3_close(r->db);
    mem_free(r);
}

/* The text of a column; NULL when it holds none or memory is out. */
static const char *column(sqlite3_stmt *stmt, int i)
{
    return (const char *)sqlite3_column_text(stmt, i);
}

/* For a column() that gave NULL. */
static int no_text(struct store_reader *r, const char *what, int64_t id, struct err *err)
{
    if (sqlite3_errcode(r->db) == SQLITE_NOMEM)
        return err_set(err, E_NOMEM, "out of memory");
    return err_set(err, E_CORRUPT, "%s %lld has no text", what, (long long)id);
}

int store_reader_snapshot(struct store_reader *r, int index, int64_t *ret_seq,
                          const char **ret_text, size_t *ret_len, struct err *err)
{
    const char *text;
    int code;

    (void)sqlite3_reset(r->snapshot);
    (void)sqlite3_bind_int(r->snapshot, 1, index);
    code = sqlite3_step(r->snapshot);
    if (code == SQLITE_DONE) {
        (void)sqlite3_reset(r->snapshot);
        return 0;
    }
    if (code != SQLITE_ROW)
        return sql_error(r->db, code, "snapshot", err);
    text = column(r->snapshot, 1);
    if (!text)
        return no_text(r, "snapshot", sqlite3_column_int64(r->snapshot, 0), err);
    *ret_seq = sqlite3_column_int64(r->snapshot, 0);
    *ret_text = text;
    *ret_len = (size_t)sqlite3_column_bytes(r->snapshot, 1);
    return 1;
}

int store_reader_first_seq(struct store_reader *r, int64_t *ret_seq, struct err *err)
{
    return sql_number(r->db, "SELECT coalesce(min(seq), 0) FROM \"row\"", ret_seq, err);
}

int store_reader_last_seq(struct store_reader *r, int64_t *ret_seq, struct err *err)
{
    return sql_number(r->db, "SELECT coalesce(max(seq), 0) FROM \"row\"", ret_seq, err);
}

void store_reader_seek(struct store_reader *r, int64_t after_seq)
{
    (void)sqlite3_reset(r->rows);
    r->is_walking = false;
    r->seq = after_seq;
}

static int check_time(const struct store_reader *r, const struct engine_row *row,
                      struct err *err)
{
    if (row->time_us < 0 || row->time_us > ROW_TIME_MAX)
        return err_set(err, E_CORRUPT, "row %lld has the time %lld us, which is none",
                       (long long)row->seq, (long long)row->time_us);
    if (row->time_us < r->row_us)
        return err_set(err, E_CORRUPT,
                       "row %lld: time goes back, from %lld us of the row before to %lld",
                       (long long)row->seq, (long long)r->row_us,
                       (long long)row->time_us);
    return 0;
}

static int fill_row(struct store_reader *r, struct engine_row *ret, struct err *err)
{
    sqlite3_stmt *stmt = r->rows;
    struct engine_row row = {
        .seq = sqlite3_column_int64(stmt, 0),
        .time_us = sqlite3_column_int64(stmt, 1),
        .kind = column(stmt, 2),
        .kind_version = sqlite3_column_int(stmt, 3),
        .rules = sqlite3_column_int(stmt, 4),
        .input = column(stmt, 5),
        .changes = column(stmt, 6),
    };
    int rc;

    if (!row.kind || !row.input || !row.changes)
        return no_text(r, "row", row.seq, err);
    if (row.seq != r->seq + 1)
        return err_set(err, E_CORRUPT, "row %lld is missing: after %lld comes %lld",
                       (long long)r->seq + 1, (long long)r->seq, (long long)row.seq);
    rc = check_time(r, &row, err);
    if (rc < 0)
        return rc;
    r->seq = row.seq;
    r->row_us = row.time_us;
    *ret = row;
    return 1;
}

/* The walk begins behind a row; times are compared from that one on. */
static int begin_walk(struct store_reader *r, struct err *err)
{
    int code;

    (void)sqlite3_bind_int64(r->row_time, 1, r->seq);
    code = sqlite3_step(r->row_time);
    r->row_us = code == SQLITE_ROW ? sqlite3_column_int64(r->row_time, 0) : 0;
    (void)sqlite3_reset(r->row_time);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return sql_error(r->db, code, "row", err);
    (void)sqlite3_bind_int64(r->rows, 1, r->seq);
    r->is_walking = true;
    return 0;
}

int store_reader_next(void *reader, struct engine_row *ret_row, struct err *err)
{
    struct store_reader *r = reader;
    int code;

    if (!r->is_walking) {
        int rc = begin_walk(r, err);

        if (rc < 0)
            return rc;
    }
    code = sqlite3_step(r->rows);
    if (code == SQLITE_ROW)
        return fill_row(r, ret_row, err);
    store_reader_seek(r, r->seq);
    return code == SQLITE_DONE ? 0 : sql_error(r->db, code, "row", err);
}

static int visit(struct store_reader *r, sqlite3_stmt *stmt, store_fact_fn fn, void *arg,
                 struct err *err)
{
    const char *kind = column(stmt, 3);
    struct store_fact fact = {
        .id = sqlite3_column_int64(stmt, 0),
        .seq = sqlite3_column_int64(stmt, 1),
        .job = (uint32_t)sqlite3_column_int64(stmt, 2),
        .json = column(stmt, 4),
    };

    if (!kind || !fact.json)
        return no_text(r, "fact", fact.id, err);
    fact.kind = kind_of(kind);
    if (fact.kind == ENGINE_FACT_KIND_MAX)
        return 0; /* of a later version: not for us */
    return fn(arg, &fact);
}

static int walk(struct store_reader *r, sqlite3_stmt *stmt, store_fact_fn fn, void *arg,
                struct err *err)
{
    int n = 0;
    int rc = 0;
    int code;

    while (rc >= 0 && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        rc = visit(r, stmt, fn, arg, err);
        n++;
    }
    if (rc >= 0 && code != SQLITE_DONE)
        rc = sql_error(r->db, code, "fact", err);
    (void)sqlite3_reset(stmt);
    return rc < 0 ? rc : n;
}

static int limit_of(const struct store_page *page)
{
    return i32_min(i32_max(page->limit, 0), STORE_PAGE_MAX);
}

int store_reader_facts(struct store_reader *r, uint32_t job,
                       const struct store_page *page, store_fact_fn fn, void *arg,
                       struct err *err)
{
    (void)sqlite3_bind_int64(r->facts, 1, job);
    (void)sqlite3_bind_int64(r->facts, 2, page->from_id);
    (void)sqlite3_bind_int(r->facts, 3, limit_of(page));
    return walk(r, r->facts, fn, arg, err);
}

int store_reader_ended(struct store_reader *r, const struct store_page *page,
                       store_fact_fn fn, void *arg, struct err *err)
{
    int64_t before_id = page->from_id > 0 ? page->from_id : INT64_MAX;

    (void)sqlite3_bind_int64(r->ended, 1, before_id);
    (void)sqlite3_bind_int(r->ended, 2, limit_of(page));
    return walk(r, r->ended, fn, arg, err);
}

int store_reader_ended_after(struct store_reader *r, uint32_t after_job, int32_t limit,
                             store_fact_fn fn, void *arg, struct err *err)
{
    (void)sqlite3_bind_int64(r->ended_after, 1, after_job);
    (void)sqlite3_bind_int(r->ended_after, 2, i32_min(i32_max(limit, 0), STORE_PAGE_MAX));
    return walk(r, r->ended_after, fn, arg, err);
}
