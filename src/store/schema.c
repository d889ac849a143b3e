/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - the tables, and how older ones become these.
 *
 * SQLite's user_version holds the number of migrations that were made, application_id
 * that the file is ours. A migration runs in one transaction together with its number,
 * so a crash leaves the old tables or the new ones. What stands here has been released
 * and is never edited: the next change of the tables is the next entry. */
#include "store/schema.h"

#include <stdint.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/units.h"
#include "store/sql.h"

/* "Elst" */
#define APPLICATION_ID 0x456c7374

static const char *const migrations[] = {
    /* 1: journal, snapshots, facts. */
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE \"row\"("
    "  seq INTEGER PRIMARY KEY, time_us INTEGER NOT NULL, kind TEXT NOT NULL,"
    "  kind_version INTEGER NOT NULL, rules INTEGER NOT NULL,"
    "  input TEXT NOT NULL, changes TEXT NOT NULL);"
    "CREATE TABLE snapshot(seq INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    "CREATE TABLE fact("
    "  id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, job INTEGER NOT NULL,"
    "  kind TEXT NOT NULL, json TEXT NOT NULL);"
    "CREATE INDEX fact_job ON fact(job);"
    "CREATE INDEX fact_end ON fact(kind) WHERE kind = 'end';"
    "CREATE INDEX fact_end_job ON fact(job) WHERE kind = 'end';"
    "INSERT INTO meta VALUES('format', '1');"
    "INSERT INTO meta VALUES('created', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'));",
    /* 2: when jobs ended, for those that are to be forgotten. */
    "CREATE TABLE ended(job INTEGER PRIMARY KEY, time_us INTEGER NOT NULL);"
    "CREATE INDEX ended_time ON ended(time_us);"
    "INSERT OR REPLACE INTO ended(job, time_us)"
    "  SELECT fact.job, \"row\".time_us FROM fact JOIN \"row\" USING(seq)"
    "  WHERE fact.kind = 'end';"
    "UPDATE meta SET value = '2' WHERE key = 'format';",
};

#define SCHEMA_VERSION ((int64_t)ARRAY_SIZE(migrations))

static int check_owner(sqlite3 *db, int64_t version, struct err *err)
{
    int64_t id = 0;
    int64_t tables = 0;
    int rc = sql_number(db, "PRAGMA application_id", &id, err);

    if (rc == 0)
        rc = sql_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (rc < 0)
        return rc;
    if (id == APPLICATION_ID || (version == 0 && tables == 0 && id == 0))
        return 0;
    return err_set(err, E_CORRUPT, "%s is a database of another program", SQL_FILE);
}

static int read_version(sqlite3 *db, int64_t *ret, struct err *err)
{
    int64_t version = 0;
    int rc = sql_number(db, "PRAGMA user_version", &version, err);

    if (rc == 0)
        rc = check_owner(db, version, err);
    if (rc < 0)
        return rc;
    if (version > SCHEMA_VERSION)
        return err_set(err, E_VERSION,
                       "the state was written by a newer version (format %lld; this one "
                       "knows up to %lld)",
                       (long long)version, (long long)SCHEMA_VERSION);
    *ret = version;
    return 0;
}

static int migrate_to(sqlite3 *db, int64_t version, struct err *err)
{
    char number[96];
    int rc;

    (void)snprintf(number, sizeof number,
                   "PRAGMA user_version = %lld; PRAGMA application_id = %d;",
                   (long long)version, APPLICATION_ID);
    rc = sql_run(db, "BEGIN IMMEDIATE", err);
    if (rc == 0)
        rc = sql_run(db, migrations[version - 1], err);
    if (rc == 0)
        rc = sql_run(db, number, err);
    if (rc == 0)
        rc = sql_run(db, "COMMIT", err);
    if (rc < 0 && !sqlite3_get_autocommit(db))
        (void)sql_run(db, "ROLLBACK", NULL);
    return rc;
}

int schema_migrate(sqlite3 *db, struct err *err)
{
    int64_t version = 0;
    int rc = read_version(db, &version, err);

    while (rc == 0 && version < SCHEMA_VERSION)
        rc = migrate_to(db, ++version, err);
    return rc;
}

int schema_check(sqlite3 *db, struct err *err)
{
    int64_t version = 0;
    int rc = read_version(db, &version, err);

    if (rc < 0)
        return rc;
    if (version == 0)
        return err_set(err, E_NOTFOUND, "the state is empty");
    if (version < SCHEMA_VERSION)
        return err_set(err, E_VERSION,
                       "the state has the older format %lld; starting the daemon brings "
                       "it to %lld",
                       (long long)version, (long long)SCHEMA_VERSION);
    return 0;
}

int schema_set_holder(sqlite3 *db, const char *holder, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc =
        sql_prepare(db, "INSERT OR REPLACE INTO meta VALUES('holder', ?1)", &stmt, err);

    if (rc < 0)
        return rc;
    (void)sqlite3_bind_text(stmt, 1, holder, -1, SQLITE_STATIC);
    rc = sql_step(db, stmt, "holder", err);
    (void)sqlite3_finalize(stmt);
    return rc;
}
