/* SPDX-License-Identifier: Apache-2.0 */
/* memstore.c - rows in an array, a snapshot in a text.
 *
 * Invariants:
 *   1. Rows become durable in order; `durable` only grows, until a crash cuts the rest.
 *   2. While commits fail nothing becomes durable, and the engine is told at the first
 *      attempt; the store tries again every second.
 *   3. A snapshot counts only once the row it stands for is durable. */
#include "sim/memstore.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define RETRY_US USEC_PER_SEC

struct row {
    struct engine_row row; /* texts owned; without facts */
    usec_t due_us;
};

struct snapshot {
    int64_t seq; /* 0: none */
    char *text;
    size_t len;
};

struct memstore {
    usec_t commit_us;
    usec_t now_us;
    usec_t retry_us; /* while it fails */
    bool is_failing;
    bool has_told;
    enum memstore_keep keep;
    struct row *rows;
    size_t n_rows;
    size_t cap_rows;
    size_t n_durable; /* of rows */
    int64_t durable;  /* newest durable seq */
    struct snapshot old;
    struct snapshot newest;
};

struct memstore *memstore_new(usec_t commit_us, enum memstore_keep keep)
{
    struct memstore *m = mem_new(1, sizeof *m);

    if (!m)
        return NULL;
    m->commit_us = commit_us;
    m->keep = keep;
    return m;
}

static void row_release(struct row *row)
{
    mem_free((char *)row->row.kind);
    mem_free((char *)row->row.input);
    mem_free((char *)row->row.changes);
}

void memstore_free(struct memstore *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->n_rows; i++)
        row_release(&m->rows[i]);
    mem_free(m->rows);
    mem_free(m->old.text);
    mem_free(m->newest.text);
    mem_free(m);
}

void memstore_set_now(struct memstore *m, usec_t now_us)
{
    ASSERT(now_us >= m->now_us);
    m->now_us = now_us;
}

static int append(void *ctx, const struct engine_row *row)
{
    struct memstore *m = ctx;
    struct row copy = {.row = *row, .due_us = m->now_us + m->commit_us};
    void *p = m->rows;

    if (mem_reserve(&p, &m->cap_rows, m->n_rows + 1, sizeof *m->rows) < 0)
        return E_NOMEM;
    m->rows = p;
    copy.row.facts = NULL;
    copy.row.n_facts = 0;
    copy.row.kind = mem_text(row->kind);
    copy.row.input = mem_text(row->input);
    copy.row.changes = mem_text(row->changes);
    if (!copy.row.kind || !copy.row.input || !copy.row.changes) {
        row_release(&copy);
        return E_NOMEM;
    }
    m->rows[m->n_rows++] = copy;
    return 0;
}

static int take_snapshot(void *ctx, int64_t seq, const char *text, size_t len)
{
    struct memstore *m = ctx;
    char *copy = mem_new(len + 1, 1);

    if (!copy)
        return E_NOMEM;
    memcpy(copy, text, len);
    mem_free(m->old.text);
    m->old = m->newest;
    m->newest = (struct snapshot){seq, copy, len};
    return 0;
}

struct engine_store_port memstore_port(struct memstore *m)
{
    return (struct engine_store_port){
        .ctx = m, .append = append, .snapshot = take_snapshot};
}

usec_t memstore_next(const struct memstore *m)
{
    usec_t due_us;

    if (m->n_durable == m->n_rows)
        return USEC_NEVER;
    due_us = m->rows[m->n_durable].due_us;
    return m->is_failing && m->has_told ? i64_max(due_us, m->retry_us) : due_us;
}

/* Rows that nobody will ask for again. */
static void forget_durable(struct memstore *m)
{
    for (size_t i = 0; i < m->n_durable; i++)
        row_release(&m->rows[i]);
    memmove(m->rows, m->rows + m->n_durable,
            (m->n_rows - m->n_durable) * sizeof *m->rows);
    m->n_rows -= m->n_durable;
    m->n_durable = 0;
}

bool memstore_run(struct memstore *m, struct engine *engine)
{
    struct err why;
    int64_t before = m->durable;

    if (memstore_next(m) > m->now_us)
        return false;
    if (m->is_failing) {
        m->retry_us = m->now_us + RETRY_US;
        m->has_told = true;
        (void)err_set(&why, E_IO, "the disk is full");
        engine_commit_failed(engine, &why);
        return false;
    }
    while (m->n_durable < m->n_rows && m->rows[m->n_durable].due_us <= m->now_us)
        m->durable = m->rows[m->n_durable++].row.seq;
    if (m->keep == MEMSTORE_FORGET)
        forget_durable(m);
    if (m->durable > before)
        engine_committed(engine, m->durable);
    return m->durable > before;
}

void memstore_fail(struct memstore *m)
{
    m->is_failing = true;
    m->has_told = false;
}

void memstore_mend(struct memstore *m)
{
    m->is_failing = false;
}

bool memstore_is_settled(const struct memstore *m)
{
    return m->n_durable == m->n_rows;
}

void memstore_crash(struct memstore *m)
{
    while (m->n_rows > m->n_durable)
        row_release(&m->rows[--m->n_rows]);
    m->has_told = false;
}

int memstore_load(const struct memstore *m, struct engine *engine, struct err *err)
{
    const struct snapshot *s = m->newest.seq <= m->durable ? &m->newest : &m->old;
    int rc = 0;

    ASSERT(m->keep == MEMSTORE_KEEP);
    if (s->seq > 0)
        rc = engine_load_snapshot(engine, s->seq, s->text, s->len, err);
    for (size_t i = 0; rc == 0 && i < m->n_durable; i++)
        if (m->rows[i].row.seq > s->seq)
            rc = engine_load_row(engine, &m->rows[i].row, err);
    return rc;
}
