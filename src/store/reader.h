/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - reading a state directory, beside a running daemon or without one.
 *
 * A reader has a connection of its own, takes no lock, writes nothing, and sees durable
 * rows only. Used by recovery, by the API (histories, ended jobs) and by `replay`. */
#ifndef STORE_READER_H
#define STORE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/engine.h"

#define STORE_PAGE_MAX 1000 /* facts of one answer */

struct store_page {
    int64_t
        from_id; /* facts beyond this one, in the order of the walk; 0: from the start */
    int32_t limit; /* at most so many, and at most STORE_PAGE_MAX */
};

struct store_reader;

/* vfs NULL: the default. Returns 0, E_NOTFOUND (no state there), E_VERSION, E_CORRUPT,
 * E_IO, E_NOMEM. */
int store_reader_open(const char *dir, const char *vfs, struct store_reader **ret,
                      struct err *err);
void store_reader_free(struct store_reader *reader);

/* Lends the snapshot that is `index` places from the newest (0) until the next call.
 * Returns 1, 0 when there is none, or a negative E_*. */
int store_reader_snapshot(struct store_reader *reader, int index, int64_t *ret_seq,
                          const char **ret_text, size_t *ret_len, struct err *err);

/* Number of the newest row; 0: none. */
int store_reader_first_seq(struct store_reader *r, int64_t *ret_seq, struct err *err);
int store_reader_last_seq(struct store_reader *reader, int64_t *ret_seq, struct err *err);

/* The next call of store_reader_next() gives the row after this one. */
void store_reader_seek(struct store_reader *reader, int64_t after_seq);
/* Lends the next row until the next call; its facts are not read. Returns 1; 0 at the
 * end; E_CORRUPT when a row is missing or its time is none or lies before that of the row
 * before (err names it), E_IO, E_NOMEM. It takes a
 * void pointer so that it is the `next` of a struct replay_source as it stands. */
int store_reader_next(void *reader, struct engine_row *ret_row, struct err *err);

struct store_fact {
    int64_t id; /* rises with time over all jobs */
    int64_t seq;
    uint32_t job;
    enum engine_fact_kind kind;
    const char *json;
};

/* Called for each fact, which is lent for the call; a negative answer ends the walk and
 * is what the walk returns. */
typedef int (*store_fact_fn)(void *arg, const struct store_fact *fact);

/* The facts of a job, oldest first. Returns how many there were, or a negative E_*. */
int store_reader_facts(struct store_reader *reader, uint32_t job,
                       const struct store_page *page, store_fact_fn fn, void *arg,
                       struct err *err);
/* The jobs that have ended (their ENGINE_FACT_END), newest first. Returns as
 * store_reader_facts(). */
int store_reader_ended(struct store_reader *reader, const struct store_page *page,
                       store_fact_fn fn, void *arg, struct err *err);

/* The same with job > after_job, ascending by job. */
int store_reader_ended_after(struct store_reader *reader, uint32_t after_job,
                             int32_t limit, store_fact_fn fn, void *arg, struct err *err);

/* "job", "history", "end": as in the table and in the API. */
const char *store_fact_kind_name(enum engine_fact_kind kind);

#endif
