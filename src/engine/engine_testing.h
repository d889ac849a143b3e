/* SPDX-License-Identifier: Apache-2.0 */
/* engine_testing.h - a journal in memory, for tests of the engine.
 *
 * It takes rows at once and makes them durable when the test says so; it can be told to
 * refuse rows, and it can lose what is not durable. Its texts come from malloc, not from
 * mem.h, so that a test that counts allocations counts the engine's. */
#ifndef ENGINE_ENGINE_TESTING_H
#define ENGINE_ENGINE_TESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "engine/engine.h"
#include "engine/replay.h"

struct journal_row {
    struct engine_row row; /* texts owned; facts[] likewise */
    char *input;
    char *changes;
    struct engine_fact *facts;
};

struct journal {
    struct journal_row *rows;
    size_t n;
    size_t cap;
    size_t durable; /* rows[0 .. durable - 1] */
    char *snapshot; /* the newest */
    size_t snapshot_len;
    int64_t snapshot_seq;
    int64_t snapshots;
    bool refuses; /* append() answers E_NOMEM */
    bool forgets; /* keeps no texts: for tests that make very many rows */
};

void journal_release(struct journal *j);
struct engine_store_port journal_port(struct journal *j);
/* Makes `more` rows durable (at most those that there are) and tells the engine. */
void journal_commit(struct journal *j, struct engine *engine, size_t more);
void journal_commit_all(struct journal *j, struct engine *engine);
/* What a crash leaves: rows that are not durable are gone. */
void journal_crash(struct journal *j);

/* Loads the first n rows into the engine, from the snapshot when it is old enough and
 * wanted. Returns what the engine says. */
int journal_load(const struct journal *j, struct engine *engine, size_t n,
                 bool from_snapshot);
/* A core folded from the first n rows alone. */
struct core *journal_fold(const struct journal *j, size_t n);

struct journal_walk {
    const struct journal *journal;
    size_t at;
};

/* The rows as a source for replay_run(). */
struct replay_source journal_source(struct journal_walk *walk);

/* Facts of this kind about the job (0: any) in all rows; the newest one's text. */
size_t journal_facts(const struct journal *j, enum engine_fact_kind kind, uint32_t job,
                     const char **ret_newest);

#endif
