/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - a journal, folded again, and on request decided again (DESIGN 2).
 *
 * Folding proves that a journal can be recovered from and gives the digest of its end;
 * with a watch port it tells the story. Deciding again compares what this program would
 * do with what was done. With equal `rules` a difference is a bug: replay_run() fails
 * with E_CORRUPT and names the row. With other rules it is news, and stands in the
 * report. */
#ifndef ENGINE_REPLAY_H
#define ENGINE_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/engine.h"

#define REPLAY_TEXT_MAX 512

struct replay_source {
    void *ctx;
    /* Lends the next row until the next call. Returns 1, 0 at the end, or a negative E_*
     * with err filled. */
    int (*next)(void *ctx, struct engine_row *ret_row, struct err *err);
};

struct replay_options {
    const char *snapshot; /* where to begin; NULL: an empty core, rows from 1 */
    size_t snapshot_len;
    int64_t snapshot_seq;
    int64_t until_seq; /* last row to take; 0: all */
    bool decide;       /* decide again and compare */
    bool check;        /* core_check() after each row; a broken rule is E_CORRUPT */
    const struct engine_watch_port *watch; /* sees every change; may be NULL */
};

struct replay_report {
    int64_t rows;      /* folded */
    int64_t last_seq;  /* of the newest row (or of the snapshot) */
    usec_t last_us;    /* its time */
    int64_t decided;   /* rows decided again */
    int64_t different; /* of these, rows that came out differently */
    int64_t first_seq; /* the first of them; 0: none */
    int32_t first_rules;
    char first_kind[32];
    size_t first_at; /* first differing byte of the changes as JSON, and from there: */
    char recorded[REPLAY_TEXT_MAX];
    char now[REPLAY_TEXT_MAX];
    uint64_t digest; /* of the state after the last row */
};

/* Returns 0; E_NOMEM; E_VERSION; E_CORRUPT (err names the row): damaged, or decided
 * differently under equal rules; or what the source says. In the latter two cases *ret is
 * filled as far as it goes; its digest is 0. */
int replay_run(const struct replay_options *options, const struct replay_source *source,
               struct replay_report *ret, struct err *err);

#endif
