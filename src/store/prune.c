/* SPDX-License-Identifier: Apache-2.0 */
/* prune.c - see prune.h.
 *
 * Rows: recovery begins at a snapshot, so what lies before the older of the two is read
 * by nobody but people; the newest keep_rows stay for them. The row of that snapshot
 * itself stays, for the times of later rows are compared with it.
 *
 * Jobs: `ended` says when each job ended. The owner of the folders is told first, and
 * only then the facts go: after a crash in between the job is found here again, and told
 * again. Freed pages are used again by SQLite, so the file grows to its largest content
 * and stays there. */
#include "store/prune.h"

#include "base/units.h"
#include "store/sql.h"

#define ROWS_MAX   30000 /* of one call; more than lie between two snapshots */
#define FORGET_MAX 4096

static int delete_rows(sqlite3 *db, int64_t keep_rows)
{
    sqlite3_stmt *stmt = NULL;
    int64_t snapshots = 0;
    int rc = sql_number(db, "SELECT count(*) FROM snapshot", &snapshots, NULL);

    if (rc < 0 || snapshots < STORE_SNAPSHOTS_KEPT)
        return rc;
    rc = sql_prepare(db,
                     "DELETE FROM \"row\" WHERE seq < min("
                     "(SELECT min(seq) FROM snapshot), "
                     "(SELECT max(seq) FROM \"row\") - ?1, "
                     "(SELECT min(seq) FROM \"row\") + ?2)",
                     &stmt, NULL);
    if (rc < 0)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, keep_rows);
    (void)sqlite3_bind_int64(stmt, 2, ROWS_MAX);
    rc = sql_step(db, stmt, "rows", NULL);
    (void)sqlite3_finalize(stmt);
    return rc;
}

/* The number that a statement with one parameter gives; 0 when it gives none. */
static int64_t number_for(sqlite3 *db, const char *statement, int64_t parameter)
{
    sqlite3_stmt *stmt = NULL;
    int64_t number = 0;

    if (sql_prepare(db, statement, &stmt, NULL) < 0)
        return 0;
    (void)sqlite3_bind_int64(stmt, 1, parameter);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        number = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return number;
}

/* Jobs that ended at or before this moment may go; 0: none. */
static int64_t newest_to_go(sqlite3 *db, const struct store_options *o)
{
    int64_t by_number = 0;
    int64_t now_us = 0;

    if (o->keep_ended > 0)
        by_number = number_for(
            db, "SELECT time_us FROM ended ORDER BY time_us DESC LIMIT 1 OFFSET ?1",
            o->keep_ended);
    if (o->keep_us <= 0 ||
        sql_number(db, "SELECT time_us FROM \"row\" ORDER BY seq DESC LIMIT 1", &now_us,
                   NULL) < 0)
        return by_number;
    return i64_max(by_number, now_us - o->keep_us);
}

/* Puts up to FORGET_MAX jobs that may go into jobs[]; returns how many. */
static int find_jobs(sqlite3 *db, int64_t until_us, uint32_t *jobs)
{
    sqlite3_stmt *stmt = NULL;
    int n = 0;

    if (sql_prepare(db,
                    "SELECT job FROM ended WHERE time_us <= ?1 ORDER BY time_us LIMIT ?2",
                    &stmt, NULL) < 0)
        return 0;
    (void)sqlite3_bind_int64(stmt, 1, until_us);
    (void)sqlite3_bind_int(stmt, 2, FORGET_MAX);
    while (n < FORGET_MAX && sqlite3_step(stmt) == SQLITE_ROW)
        jobs[n++] = (uint32_t)sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return n;
}

static int delete_jobs(sqlite3 *db, const char *statement, const uint32_t *jobs, int n)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sql_prepare(db, statement, &stmt, NULL);

    for (int i = 0; i < n && rc == 0; i++) {
        (void)sqlite3_bind_int64(stmt, 1, jobs[i]);
        rc = sql_step(db, stmt, "ended job", NULL);
    }
    (void)sqlite3_finalize(stmt);
    return rc;
}

static void forget_jobs(sqlite3 *db, const struct store_options *o)
{
    static const char *const statements[] = {"DELETE FROM fact WHERE job = ?1",
                                             "DELETE FROM ended WHERE job = ?1"};
    uint32_t jobs[FORGET_MAX];
    int64_t until_us = newest_to_go(db, o);
    int n = until_us > 0 ? find_jobs(db, until_us, jobs) : 0;
    int rc;

    if (n == 0)
        return;
    for (int i = 0; i < n && o->forget; i++)
        o->forget(o->forget_arg, jobs[i]);
    rc = sql_run(db, "BEGIN IMMEDIATE", NULL);
    for (size_t i = 0; i < ARRAY_SIZE(statements) && rc == 0; i++)
        rc = delete_jobs(db, statements[i], jobs, n);
    if (rc == 0)
        rc = sql_run(db, "COMMIT", NULL);
    if (rc < 0 && !sqlite3_get_autocommit(db))
        (void)sql_run(db, "ROLLBACK", NULL);
}

void prune_run(sqlite3 *db, const struct store_options *options)
{
    int64_t keep_rows = options->keep_rows > 0 ? options->keep_rows : STORE_ROWS_KEPT;

    if (delete_rows(db, keep_rows) == 0)
        forget_jobs(db, options);
}
