/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the tables, as numbered migrations. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>

#include "base/err.h"

/* Brings the tables of a writable database up to date; an empty one is set up. Returns 0,
 * E_VERSION (a newer program made it), E_CORRUPT (not ours), or an error of the disk. */
int schema_migrate(sqlite3 *db, struct err *err);
/* For readers: 0, E_NOTFOUND (empty), E_VERSION (newer, or older and not yet migrated),
 * E_CORRUPT (not ours). */
int schema_check(sqlite3 *db, struct err *err);
/* Writes who holds the state now. */
int schema_set_holder(sqlite3 *db, const char *holder, struct err *err);

#endif
