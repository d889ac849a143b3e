/* SPDX-License-Identifier: Apache-2.0 */
/* past.c - see past.h. A reader of its own beside the writer: it sees durable rows only,
 * and whoever misses a job here while rows are on their way asks again when they are. */
#include "api/past.h"

#include <string.h>

#include "base/mem.h"
#include "store/reader.h"
#include "wire/answer.h"

struct past {
    struct store_reader *reader;
};

int past_open(const char *state_dir, struct past **ret, struct err *err)
{
    struct past *past = mem_new(1, sizeof(*past));
    int rc;

    if (!past)
        return err_set(err, E_NOMEM, "out of memory");
    rc = store_reader_open(state_dir, NULL, &past->reader, err);
    if (rc < 0) {
        mem_free(past);
        return rc;
    }
    *ret = past;
    return 0;
}

void past_free(struct past *past)
{
    if (!past)
        return;
    store_reader_free(past->reader);
    mem_free(past);
}

void past_job_release(struct past_job *job)
{
    job_spec_release(&job->spec);
}

static int decode(const struct store_fact *fact, struct past_job *ret, struct err *err)
{
    int rc;

    *ret = (struct past_job){0};
    rc = answer_fact_decode(fact->json, strlen(fact->json), &ret->spec, &ret->run, err);
    if (rc < 0)
        past_job_release(ret);
    return rc;
}

struct find {
    struct past_job *ret;
    struct err *err;
    uint32_t job;
    bool is_found;
};

/* The walk begins at the job; the first fact is its own or a later job's. */
static int take_end(void *arg, const struct store_fact *fact)
{
    struct find *find = arg;

    if (fact->job != find->job)
        return 0;
    find->is_found = true;
    return decode(fact, find->ret, find->err);
}

int past_find(struct past *past, uint32_t job, struct past_job *ret, struct err *err)
{
    struct find find = {.ret = ret, .err = err, .job = job};
    int rc = store_reader_ended_after(past->reader, job - 1, 1, take_end, &find, err);

    if (rc < 0)
        return rc;
    return find.is_found ? 0 : err_field(err, E_NOTFOUND, "id", "%u is no job", job);
}

struct history {
    char **items; /* a ring of the newest */
    size_t n;     /* ever seen */
    size_t cap;
    int64_t last_id;
};

static int take_move(void *arg, const struct store_fact *fact)
{
    struct history *h = arg;
    void *items = h->items;
    char *copy;

    h->last_id = fact->id;
    if (fact->kind != ENGINE_FACT_HISTORY)
        return 0;
    if (h->n < PAST_HISTORY_MAX &&
        mem_reserve(&items, &h->cap, h->n + 1, sizeof(*h->items)) < 0)
        return E_NOMEM;
    h->items = items;
    copy = mem_text(fact->json);
    if (!copy)
        return E_NOMEM;
    if (h->n >= PAST_HISTORY_MAX)
        mem_free(h->items[h->n % PAST_HISTORY_MAX]);
    h->items[h->n++ % PAST_HISTORY_MAX] = copy;
    return 0;
}

static int last_move(const struct history *h, struct recount_move *ret, struct err *err)
{
    const char *last;

    *ret = (struct recount_move){0};
    if (h->n == 0)
        return 0;
    last = h->items[(h->n - 1) % PAST_HISTORY_MAX];
    return answer_move_decode(last, strlen(last), ret, err);
}

int past_history(struct past *past, uint32_t job, struct buf *out,
                 struct recount_move *ret_last, struct err *err)
{
    struct history h = {0};
    size_t first;
    int rc;

    do {
        struct store_page page = {.from_id = h.last_id, .limit = STORE_PAGE_MAX};

        rc = store_reader_facts(past->reader, job, &page, take_move, &h, err);
    } while (rc == STORE_PAGE_MAX);
    if (rc >= 0)
        rc = last_move(&h, ret_last, err);
    first = h.n > PAST_HISTORY_MAX ? h.n - PAST_HISTORY_MAX : 0;
    buf_putc(out, '[');
    for (size_t i = first; i < h.n; i++) {
        buf_puts(out, i > first ? "," : "");
        buf_puts(out, h.items[i % PAST_HISTORY_MAX]);
    }
    buf_putc(out, ']');
    for (size_t i = first; i < h.n; i++)
        mem_free(h.items[i % PAST_HISTORY_MAX]);
    mem_free(h.items);
    return rc < 0 ? rc : buf_error(out);
}

struct telling {
    struct recount *ret;
    struct err *err;
    int64_t last_id;
};

static int take_told(void *arg, const struct store_fact *fact)
{
    struct telling *t = arg;
    struct recount *r = t->ret;

    t->last_id = fact->id;
    if (fact->kind != ENGINE_FACT_HISTORY)
        return 0;
    if (r->n == RECOUNT_MOVES_MAX) {
        memmove(r->moves, r->moves + 1, sizeof(r->moves) - sizeof(r->moves[0]));
        r->n--;
        r->n_before++;
    }
    return answer_move_decode(fact->json, strlen(fact->json), &r->moves[r->n++], t->err);
}

int past_recount(struct past *past, uint32_t job, struct recount *ret, struct err *err)
{
    struct telling t = {.ret = ret, .err = err};
    int rc;

    *ret = (struct recount){0};
    do {
        struct store_page page = {.from_id = t.last_id, .limit = STORE_PAGE_MAX};

        rc = store_reader_facts(past->reader, job, &page, take_told, &t, err);
    } while (rc == STORE_PAGE_MAX);
    return rc < 0 ? rc : 0;
}

struct walk {
    past_fn fn;
    void *arg;
    struct err *err;
    uint32_t last;
    bool is_over;
};

static int take_ended(void *arg, const struct store_fact *fact)
{
    struct walk *walk = arg;
    struct past_job job;
    int rc;

    walk->last = fact->job;
    if (walk->is_over)
        return 0;
    rc = decode(fact, &job, walk->err);
    if (rc < 0)
        return rc;
    rc = walk->fn(walk->arg, &job);
    walk->is_over = rc > 0;
    past_job_release(&job);
    return rc < 0 ? rc : 0;
}

int past_walk(struct past *past, uint32_t after, past_fn fn, void *arg, struct err *err)
{
    struct walk walk = {.fn = fn, .arg = arg, .err = err, .last = after};
    int rc;

    do
        rc = store_reader_ended_after(past->reader, walk.last, STORE_PAGE_MAX, take_ended,
                                      &walk, err);
    while (rc == STORE_PAGE_MAX && !walk.is_over);
    return rc < 0 ? rc : 0;
}
