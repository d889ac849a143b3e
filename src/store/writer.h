/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - the thread that writes. store.h tells the promises. */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/err.h"
#include "engine/engine.h"
#include "store/store.h"

struct writer;

/* Takes the connection over on success; last_seq is the newest row in it. The options'
 * functions are used as long as the writer lives. */
int writer_new(sqlite3 *db, const struct store_options *options, int64_t last_seq,
               struct writer **ret, struct err *err);
/* Writes what waits, with one last try if commits fail, and ends the thread. Returns 0 or
 * E_IO (err: how many rows are lost). */
int writer_free(struct writer *w, struct err *err);

/* Copies and queues. 0 or E_NOMEM. The row must follow the newest one. */
int writer_append(struct writer *w, const struct engine_row *row);
int writer_snapshot(struct writer *w, int64_t seq, const char *text, size_t len);

void writer_get_progress(struct writer *w, struct store_progress *ret);

#endif
