/* SPDX-License-Identifier: Apache-2.0 */
/* sql.c - see sql.h. Every statement is prepared, those that are used once as well, so
 * no text from outside can ever become SQL. */
#include "store/sql.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/units.h"

#define PATH_MAX_BYTES 4096

static int map_code(int code)
{
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return E_NOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return E_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return E_CORRUPT;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return E_DENIED;
    case SQLITE_TOOBIG:
        return E_LIMIT;
    default:
        return E_IO;
    }
}

int sql_error(sqlite3 *db, int code, const char *what, struct err *err)
{
    return err_set(err, map_code(code), "%s: %s", what,
                   db && sqlite3_errcode(db) == (code & 0xff) ? sqlite3_errmsg(db)
                                                              : sqlite3_errstr(code));
}

/* SQLite opens whatever has the name, and waits for ever for the other end of a pipe. */
static int check_files(const char *path, struct err *err)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    char name[PATH_MAX_BYTES + 16];
    struct stat st;

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, ends[i]);
        if (stat(name, &st) == 0 && !S_ISREG(st.st_mode))
            return err_set(err, E_CORRUPT, "%s is not a regular file", name);
    }
    return 0;
}

int sql_open(const char *dir, int flags, const char *vfs, sqlite3 **ret, struct err *err)
{
    char path[PATH_MAX_BYTES];
    sqlite3 *db = NULL;
    int n = snprintf(path, sizeof path, "%s/%s", dir, SQL_FILE);
    int code;
    int rc;

    *ret = NULL;
    if (n < 0 || (size_t)n >= sizeof path)
        return err_set(err, E_LIMIT, "the path of the state directory is too long");
    rc = check_files(path, err);
    if (rc < 0)
        return rc;
    code = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, vfs);
    if (code != SQLITE_OK) {
        rc = sql_error(db, code, path, err);
        (void)sqlite3_close(db);
        return rc;
    }
    (void)sqlite3_extended_result_codes(db, 1);
    *ret = db;
    return 0;
}

int sql_prepare(sqlite3 *db, const char *statement, sqlite3_stmt **ret, struct err *err)
{
    int code =
        sqlite3_prepare_v3(db, statement, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);

    return code == SQLITE_OK ? 0 : sql_error(db, code, "state.db", err);
}

int sql_run(sqlite3 *db, const char *statements, struct err *err)
{
    while (*statements) {
        sqlite3_stmt *stmt = NULL;
        int code = sqlite3_prepare_v2(db, statements, -1, &stmt, &statements);

        while (code == SQLITE_OK && stmt && sqlite3_step(stmt) == SQLITE_ROW)
            continue;
        if (code == SQLITE_OK)
            code = sqlite3_finalize(stmt);
        if (code != SQLITE_OK)
            return sql_error(db, code, "state.db", err);
    }
    return 0;
}

int sql_number(sqlite3 *db, const char *statement, int64_t *ret, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int64_t number = 0;
    int code = sqlite3_prepare_v2(db, statement, -1, &stmt, NULL);

    if (code == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
        number = sqlite3_column_int64(stmt, 0);
    if (code == SQLITE_OK)
        code = sqlite3_finalize(stmt);
    if (code != SQLITE_OK)
        return sql_error(db, code, "state.db", err);
    *ret = number;
    return 0;
}

int sql_step(sqlite3 *db, sqlite3_stmt *stmt, const char *what, struct err *err)
{
    int code = sqlite3_step(stmt);
    int rc = 0;

    ASSERT(code != SQLITE_ROW);
    if (code != SQLITE_DONE)
        rc = sql_error(db, sqlite3_extended_errcode(db), what, err);
    (void)sqlite3_reset(stmt);
    return rc;
}
