/* SPDX-License-Identifier: Apache-2.0 */
/* sql.h - the few things that we ask of SQLite, with our errors. */
#ifndef STORE_SQL_H
#define STORE_SQL_H

#include <stdint.h>

#include <sqlite3.h>

#include "base/err.h"

#define SQL_FILE "state.db" /* within the state directory */

/* Fills err with SQLite's words and returns the E_* that fits its code. */
int sql_error(sqlite3 *db, int code, const char *what, struct err *err);

/* Opens DIR/state.db with the flags; on failure *ret is NULL. */
int sql_open(const char *dir, int flags, const char *vfs, sqlite3 **ret, struct err *err);
/* Runs the statements one after the other, each prepared; rows are ignored. */
int sql_run(sqlite3 *db, const char *statements, struct err *err);
/* The one number that the statement gives. */
int sql_number(sqlite3 *db, const char *statement, int64_t *ret, struct err *err);
/* A statement that will be used again and again. */
int sql_prepare(sqlite3 *db, const char *statement, sqlite3_stmt **ret, struct err *err);
/* Steps a statement that gives no row, then resets it. */
int sql_step(sqlite3 *db, sqlite3_stmt *stmt, const char *what, struct err *err);

#endif
