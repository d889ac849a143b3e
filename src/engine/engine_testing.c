/* SPDX-License-Identifier: Apache-2.0 */
/* engine_testing.c - see engine_testing.h. */
#include "engine/engine_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/units.h"
#include "core/change.h"
#include "wire/journal.h"

static char *copy_text(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = malloc(n);

    assert_non_null(copy);
    memcpy(copy, text, n);
    return copy;
}

static void row_release(struct journal_row *r)
{
    for (size_t i = 0; i < r->row.n_facts; i++)
        free((char *)(uintptr_t)r->facts[i].json);
    free(r->facts);
    free(r->input);
    free(r->changes);
}

void journal_release(struct journal *j)
{
    while (j->n > 0)
        row_release(&j->rows[--j->n]);
    free(j->rows);
    free(j->snapshot);
    *j = (struct journal){0};
}

static void row_copy(struct journal_row *to, const struct engine_row *row)
{
    *to = (struct journal_row){.row = *row};
    to->input = copy_text(row->input);
    to->changes = copy_text(row->changes);
    to->facts = calloc(row->n_facts + 1, sizeof *to->facts);
    assert_non_null(to->facts);
    for (size_t i = 0; i < row->n_facts; i++) {
        to->facts[i] = row->facts[i];
        to->facts[i].json = copy_text(row->facts[i].json);
    }
    to->row.input = to->input;
    to->row.changes = to->changes;
    to->row.facts = to->facts;
}

static int append(void *ctx, const struct engine_row *row)
{
    struct journal *j = ctx;

    if (j->refuses)
        return E_NOMEM;
    assert_int_equal(row->seq, j->n + 1);
    if (j->n > 0)
        assert_true(row->time_us >= j->rows[j->n - 1].row.time_us);
    if (j->n == j->cap) {
        j->cap = j->cap ? 2 * j->cap : 64;
        j->rows = realloc(j->rows, j->cap * sizeof *j->rows);
        assert_non_null(j->rows);
    }
    if (j->forgets)
        j->rows[j->n] = (struct journal_row){.row = {.seq = row->seq}};
    else
        row_copy(&j->rows[j->n], row);
    j->n++;
    return 0;
}

static int snapshot(void *ctx, int64_t seq, const char *text, size_t len)
{
    struct journal *j = ctx;

    assert_int_equal(strlen(text), len);
    free(j->snapshot);
    j->snapshot = copy_text(text);
    j->snapshot_len = len;
    j->snapshot_seq = seq;
    j->snapshots++;
    return 0;
}

struct engine_store_port journal_port(struct journal *j)
{
    return (struct engine_store_port){.ctx = j, .append = append, .snapshot = snapshot};
}

void journal_commit(struct journal *j, struct engine *engine, size_t more)
{
    j->durable = more < j->n - j->durable ? j->durable + more : j->n;
    engine_committed(engine, (int64_t)j->durable);
}

void journal_commit_all(struct journal *j, struct engine *engine)
{
    journal_commit(j, engine, j->n);
}

void journal_crash(struct journal *j)
{
    while (j->n > j->durable)
        row_release(&j->rows[--j->n]);
    if (j->snapshot_seq > (int64_t)j->n) {
        free(j->snapshot);
        j->snapshot = NULL;
        j->snapshot_seq = 0;
    }
}

int journal_load(const struct journal *j, struct engine *engine, size_t n,
                 bool from_snapshot)
{
    size_t first = 0;
    struct err err;
    int rc = 0;

    if (from_snapshot && j->snapshot && j->snapshot_seq <= (int64_t)n) {
        rc = engine_load_snapshot(engine, j->snapshot_seq, j->snapshot, j->snapshot_len,
                                  &err);
        first = (size_t)j->snapshot_seq;
    }
    for (size_t i = first; i < n && rc == 0; i++)
        rc = engine_load_row(engine, &j->rows[i].row, &err);
    return rc;
}

struct core *journal_fold(const struct journal *j, size_t n)
{
    struct core *core = core_new();
    struct changes changes;

    assert_non_null(core);
    changes_init(&changes);
    for (size_t i = 0; i < n; i++) {
        const char *text = j->rows[i].changes;

        changes_clear(&changes);
        assert_int_equal(wire_changes_decode(text, strlen(text), &changes, NULL), 0);
        for (size_t k = 0; k < changes.n; k++)
            assert_int_equal(core_apply(core, &changes.items[k]), 0);
    }
    changes_release(&changes);
    return core;
}

static int next_row(void *ctx, struct engine_row *ret_row, struct err *err)
{
    struct journal_walk *walk = ctx;

    (void)err;
    if (walk->at == walk->journal->n)
        return 0;
    *ret_row = walk->journal->rows[walk->at++].row;
    return 1;
}

struct replay_source journal_source(struct journal_walk *walk)
{
    return (struct replay_source){.ctx = walk, .next = next_row};
}

size_t journal_facts(const struct journal *j, enum engine_fact_kind kind, uint32_t job,
                     const char **ret_newest)
{
    size_t n = 0;

    for (size_t i = 0; i < j->n; i++)
        for (size_t k = 0; k < j->rows[i].row.n_facts; k++) {
            const struct engine_fact *fact = &j->rows[i].facts[k];

            if (fact->kind != kind || (job != 0 && fact->job != job))
                continue;
            n++;
            if (ret_newest)
                *ret_newest = fact->json;
        }
    return n;
}
