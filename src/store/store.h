/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - the durable journal: rows, snapshots and facts in one SQLite file.
 *
 * One writer thread takes everything that waits into one transaction (group commit). The
 * caller's thread never touches the disk: it appends, is notified, and polls. A commit
 * that fails is tried again with the same rows in the same order, at growing intervals,
 * until it succeeds or the store is closed; nothing is lost and nothing overtakes.
 *
 * A state directory belongs to one store at a time (a lock file says to whom). Reading
 * beside it is free: reader.h.
 *
 * Threads: all calls from one thread, except `notify`, which comes from the writer. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/units.h"
#include "engine/engine.h"

/* Rows of one commit; bounds what a retry has to write again. */
#define STORE_BATCH_MAX 4096
/* Between two tries of a failed commit: doubled from the first to the last. */
#define STORE_RETRY_FIRST_US (100 * USEC_PER_MSEC)
#define STORE_RETRY_LAST_US  (5 * USEC_PER_SEC)
#define STORE_SNAPSHOTS_KEPT 2
#define STORE_ROWS_KEPT      20000

struct store;

struct store_options {
    const char *dir;    /* made with mode 0700 when it does not exist */
    const char *holder; /* who opens it, for people: "elastaned 0.1.0" */
    /* There is something to poll. Called from the writer thread; must not call back into
     * the store. May be NULL. */
    void (*notify)(void *arg);
    void *notify_arg;
    /* What must be on the disk before rows that speak of it. Called from the writer
     * thread before each commit of rows; a failure is one of the commit. May be NULL. */
    int (*before_commit)(void *arg, struct err *err);
    void *before_commit_arg;
    /* What is kept beyond what recovery needs; pruned after each snapshot. Of the journal
     * the rows after the second newest snapshot, and the newest keep_rows (0:
     * STORE_ROWS_KEPT). Of ended jobs what is told about the newest keep_ended (0: all),
     * unless they ended more than keep_us before the newest row (0: for ever). */
    int64_t keep_rows;
    int32_t keep_ended;
    usec_t keep_us;
    /* A job's facts are about to be removed: its folder may go. Called from the writer
     * thread, perhaps again after a crash. May be NULL. */
    void (*forget)(void *arg, uint32_t job);
    void *forget_arg;
    int32_t batch_max; /* rows of one commit; 0: STORE_BATCH_MAX */
    const char *vfs;   /* SQLite's name of the file system to use; NULL: the default */
    /* Waits between two tries, from the writer thread, in place of a timed wait; attempt
     * counts from 1. NULL: wait. */
    void (*pause)(void *arg, int attempt);
    void *pause_arg;
};

/* Opens or creates the state. Returns 0; E_BUSY (err: who holds it); E_VERSION (written
 * by a newer program); E_CORRUPT (not a state of ours, or damaged); E_DENIED (others can
 * write there); E_IO; E_NOMEM. */
int store_open(const struct store_options *options, struct store **ret, struct err *err);

/* Writes what waits, stops the writer and gives the state free. Returns 0, or E_IO when
 * the last try failed too: err says how many rows are lost, none of which was ever
 * reported as durable. NULL is allowed. */
int store_close(struct store *store, struct err *err);

/* What the file system of the state is called when other machines may share it ("NFS"):
 * then the journal is written without WAL, and sockets belong elsewhere. Else NULL. */
const char *store_network(const struct store *store);

struct store_recovery {
    int64_t snapshot_seq;      /* where it began; 0: at the first row */
    int64_t rows;              /* folded after that */
    int32_t skipped_snapshots; /* could not be read */
    struct err skipped;        /* why the last of those could not */
};

/* Feeds the engine (new, not begun) the newest snapshot that it can read and the rows
 * after it. Returns 0, E_NOMEM, E_VERSION, E_IO, or E_CORRUPT (a gap or a damaged row;
 * err names it). */
int store_recover(struct store *store, struct engine *engine, struct store_recovery *ret,
                  struct err *err);

/* The port through which an engine writes here. Valid as long as the store. */
struct engine_store_port store_port(struct store *store);

struct store_progress {
    int64_t appended_seq; /* newest row handed over */
    int64_t durable_seq;  /* all rows up to this one are on the disk */
    bool is_failing;      /* the newest try to commit failed, */
    struct err why;       /* and why */
    int64_t commits;
    int64_t failures;        /* of commits, since the store was opened */
    int64_t snapshots;       /* written */
    int64_t snapshot_losses; /* could not be written; the rows suffice */
};

void store_get_progress(struct store *store, struct store_progress *ret);

/* Tells the engine what became of its rows since the last poll: engine_committed() or
 * engine_commit_failed(). To be called after `notify`, from the engine's thread, and
 * followed by engine_run(). Returns whether there was news. */
bool store_poll(struct store *store, struct engine *engine);

#endif
