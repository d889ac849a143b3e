/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.c - reading jobs: list, one, wait, explain.
 *
 * A live job comes from the core, one that has ended from the disk. Between the step that
 * ends a job and the commit of its row it is in neither; whoever looks for it then waits
 * for that row. Histories come from the disk: one that is told together with a live job
 * is waited for until it has the job's last move, so that the two agree. */
#include <stdio.h>
#include <string.h>

#include "api/jobs.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/explain.h"
#include "wire/answer.h"

#define LIST_DEFAULT 1000
#define LIST_MAX     10000
#define WAIT_MAX_S   60

static int32_t queue_place(const struct core *core, const struct job *job)
{
    int32_t place = 1;

    if (job->run.state != JOB_QUEUED)
        return 0;
    for (size_t i = 0; i < core_n_jobs(core); i++) {
        const struct job_run *other = &core_job_at(core, i)->run;

        place += other->state == JOB_QUEUED && other->order < job->run.order;
    }
    return place;
}

void jobs_put_live(struct api *api, const struct job *job, const char *history,
                   struct buf *out)
{
    const struct core *core = engine_core(api->engine);
    struct answer_job a = {.spec = &job->spec,
                           .run = &job->run,
                           .model = &job->model,
                           .cluster = core_cluster(core),
                           .now_us = clock_now(api->clock),
                           .queue_place = queue_place(core, job),
                           .history = history};
    struct local_live live;

    if (local_get_live(api->local, job->spec.id, &live)) {
        a.samples_done = live.samples_done;
        a.rate_milli = live.rate_milli;
        a.note = live.note;
    }
    answer_job(&a, out);
}

void jobs_put_past(const struct past_job *job, const char *history, struct buf *out)
{
    const struct answer_job a = {
        .spec = &job->spec, .run = &job->run, .history = history};

    answer_job(&a, out);
}

static int put_gone(struct api *api, uint32_t id, const char *history, struct buf *out,
                    struct err *err)
{
    struct past_job past;
    int rc = past_find(api->past, id, &past, err);

    if (rc < 0)
        return rc;
    jobs_put_past(&past, history, out);
    past_job_release(&past);
    return 0;
}

static void answer_with(struct request *r, int rc, struct buf *text, struct err *err)
{
    if (rc == 0) {
        request_json(r, 200, text);
        return;
    }
    buf_release(text);
    if (err->code == 0)
        (void)err_set(err, rc, "out of memory");
    request_fail(r, err);
}

/* Answers with the job of the path, without its history. Leaves the request unanswered
 * when the job may be between core and disk and has not waited for that yet (seq 0). */
static void answer_short(struct request *r)
{
    struct api *api = r->api;
    bool may_come = r->seq == 0 && api_has_undurable(api); /* asked before we look */
    const struct job *job = core_find_job(engine_core(api->engine), r->match.job);
    struct err err = {0};
    struct buf text;
    int rc = 0;

    buf_init(&text, ANSWER_MAX);
    if (job)
        jobs_put_live(api, job, NULL, &text);
    else
        rc = put_gone(api, r->match.job, NULL, &text, &err);
    if (rc != E_NOTFOUND || !may_come)
        answer_with(r, rc, &text, &err);
    else
        buf_release(&text);
}

static void poll_gone(struct request *r)
{
    if (request_is_durable(r))
        jobs_answer_gone(r);
}

void jobs_answer_gone(struct request *r)
{
    bool may_come = r->seq == 0 && api_has_undurable(r->api); /* asked before we look */
    struct past_job past;
    struct err err = {0};
    int rc = past_find(r->api->past, r->match.job, &past, &err);

    if (rc == E_NOTFOUND && may_come) {
        request_park_until_durable(r, poll_gone);
        poll_gone(r);
        return;
    }
    if (rc == 0) {
        (void)err_field(&err, E_STATE, "id", "%u has ended: it is %s, %s", r->match.job,
                        job_state_name(past.run.state), past.run.reason);
        past_job_release(&past);
    } else if (err.code == 0) {
        (void)err_set(&err, rc, "out of memory");
    }
    request_fail(r, &err);
}

/* Whether the last move of the history is the one that the job has made last. */
static bool is_whole(const struct job_run *run, const struct recount_move *last)
{
    const struct job_plan *a = &run->plan;
    const struct job_plan *b = &last->plan;

    return run->state == last->state && a->generation == b->generation &&
           a->size == b->size && a->global_batch == b->global_batch &&
           a->micro_batch == b->micro_batch && a->accumulation == b->accumulation;
}

static bool is_failing(struct api *api)
{
    struct store_progress progress;

    store_get_progress(api->store, &progress);
    return progress.is_failing;
}

/* Answers with a live job and its history, unless its last moves are on their way to the
 * disk. While nothing can be written, or not in time, the history lags. */
static void tell_live(struct request *r, const struct job *job)
{
    struct api *api = r->api;
    bool may_come = api_has_undurable(api) && !is_failing(api) && !request_is_late(r);
    struct recount_move last;
    struct err err = {0};
    struct buf history;
    struct buf text;
    int rc;

    buf_init(&history, ANSWER_MAX);
    buf_init(&text, ANSWER_MAX);
    rc = past_history(api->past, r->match.job, &history, &last, &err);
    if (rc == 0 && may_come && !is_whole(&job->run, &last)) {
        buf_release(&history);
        return;
    }
    if (rc == 0)
        jobs_put_live(api, job, history.text, &text);
    buf_release(&history);
    answer_with(r, rc, &text, &err);
}

/* The end first, then the history: whoever sees the end sees all that led to it. The
 * other way round, a commit in between would show an end without its moves. */
static void tell_gone(struct request *r, bool may_come)
{
    struct past *past = r->api->past;
    struct past_job job;
    struct recount_move last;
    struct err err = {0};
    struct buf history;
    struct buf text;
    int rc = past_find(past, r->match.job, &job, &err);

    if (rc == E_NOTFOUND && may_come)
        return;
    buf_init(&history, ANSWER_MAX);
    buf_init(&text, ANSWER_MAX);
    if (rc == 0) {
        rc = past_history(past, r->match.job, &history, &last, &err);
        if (rc == 0)
            jobs_put_past(&job, history.text, &text);
        past_job_release(&job);
    }
    buf_release(&history);
    answer_with(r, rc, &text, &err);
}

static void poll_live(struct request *r);

static void poll_ended(struct request *r)
{
    if (request_is_durable(r))
        tell_gone(r, false);
}

/* Answers, or parks until rows have come that the answer lacks. */
static void tell_job(struct request *r)
{
    bool may_come = api_has_undurable(r->api); /* asked before we look */
    const struct job *job = core_find_job(engine_core(r->api->engine), r->match.job);

    if (job)
        tell_live(r, job);
    else
        tell_gone(r, may_come);
    if (!request_is_answered(r))
        request_park_until_durable(r, job ? poll_live : poll_ended);
}

static void poll_live(struct request *r)
{
    struct store_progress progress;

    store_get_progress(r->api->store, &progress);
    if (progress.durable_seq >= r->seq || progress.is_failing || request_is_late(r))
        tell_job(r);
}

void handle_job(struct request *r)
{
    tell_job(r);
}

static void poll_wait(struct request *r)
{
    struct api *api = r->api;
    bool is_live = core_find_job(engine_core(api->engine), r->match.job) != NULL;

    if (is_live && clock_now(api->clock) < r->deadline_us)
        return;
    if (!is_live && r->seq == 0 && api_has_undurable(api)) {
        request_park_until_durable(r, poll_wait);
        return;
    }
    if (r->seq == 0 || request_is_durable(r))
        answer_short(r);
}

void handle_wait(struct request *r)
{
    int64_t seconds = 30;
    struct err err = {0};

    if (request_number(r, "timeout_s", 0, WAIT_MAX_S, &seconds, &err) < 0) {
        request_fail(r, &err);
        return;
    }
    request_park(r, poll_wait, clock_now(r->api->clock) + seconds * USEC_PER_SEC);
    poll_wait(r);
}

static void fail(struct request *r, int rc, struct err *err)
{
    if (err->code == 0)
        (void)err_set(err, rc, "out of memory");
    request_fail(r, err);
}

static void explain_past(struct request *r);

static void poll_explain(struct request *r)
{
    if (request_is_durable(r))
        explain_past(r);
}

/* Of a job that is not in the core: it has ended, or never was, which is certain only
 * when its last row is on the disk. */
static void explain_past(struct request *r)
{
    struct api *api = r->api;
    bool may_come = r->seq == 0 && api_has_undurable(api); /* asked before we look */
    struct past_job job;
    struct recount recount;
    struct err err = {0};
    struct buf text;
    int rc = past_find(api->past, r->match.job, &job, &err);

    if (rc == E_NOTFOUND && may_come) {
        request_park_until_durable(r, poll_explain);
        poll_explain(r);
        return;
    }
    if (rc < 0) {
        fail(r, rc, &err);
        return;
    }
    rc = past_recount(api->past, r->match.job, &recount, &err);
    if (rc == 0) {
        buf_init(&text, ANSWER_MAX);
        answer_recount(&job.spec, &job.run, &recount, &text);
        request_json(r, 200, &text);
    } else {
        fail(r, rc, &err);
    }
    past_job_release(&job);
}

void handle_explain(struct request *r)
{
    struct api *api = r->api;
    struct explain *x = mem_new(1, sizeof(*x));
    struct recount recount = {0};
    struct err err = {0};
    struct local_live live;
    struct buf text;
    int rc = E_NOMEM;

    if (x)
        rc = explain_job(engine_core(api->engine), r->match.job, clock_now(api->clock), x,
                         &err);
    if (rc == 0 && !job_state_holds_devices(x->run.state))
        rc = past_recount(api->past, r->match.job, &recount, &err);
    if (rc == 0) {
        if (local_get_live(api->local, r->match.job, &live))
            (void)snprintf(x->note, sizeof(x->note), "%s", live.note);
        buf_init(&text, ANSWER_MAX);
        answer_explain(x, &recount, &text);
        request_json(r, 200, &text);
    } else if (rc == E_NOTFOUND) {
        explain_past(r);
    } else {
        fail(r, rc, &err);
    }
    mem_free(x);
}

struct list {
    struct api *api;
    struct buf text;
    unsigned states; /* one bit each */
    uint32_t after;
    int64_t limit;
    int64_t n;
    uint32_t last;  /* id of the last one that was put */
    bool has_more;  /* and there was one behind it */
    size_t next_at; /* index in the core of the next live job */
};

/* Makes room for one more job; false when the page is full. */
static bool list_begin(struct list *list, uint32_t id)
{
    if (list->n >= list->limit) {
        list->has_more = true;
        return false;
    }
    if (list->n > 0)
        buf_putc(&list->text, ',');
    list->n++;
    list->last = id;
    return true;
}

/* Live jobs with ids below `before`. */
static void list_live(struct list *list, uint32_t before)
{
    const struct core *core = engine_core(list->api->engine);

    for (; list->next_at < core_n_jobs(core) && !list->has_more; list->next_at++) {
        const struct job *job = core_job_at(core, list->next_at);

        if (job->spec.id >= before)
            return;
        if (job->spec.id <= list->after || !(list->states & BIT(job->run.state)))
            continue;
        if (list_begin(list, job->spec.id))
            jobs_put_live(list->api, job, NULL, &list->text);
    }
}

static int list_past(void *arg, const struct past_job *job)
{
    struct list *list = arg;

    list_live(list, job->spec.id);
    if (list->has_more)
        return 1;
    if (!(list->states & BIT(job->run.state)))
        return 0;
    if (!list_begin(list, job->spec.id))
        return 1;
    jobs_put_past(job, NULL, &list->text);
    return 0;
}

static unsigned final_states(void)
{
    unsigned states = 0;

    for (int s = 0; s < JOB_STATE_MAX; s++)
        states |= job_state_is_final((enum job_state)s) ? BIT((unsigned)s) : 0;
    return states;
}

/* "running,queued" as bits. */
static int parse_states(const char *words, unsigned *ret, struct err *err)
{
    *ret = 0;
    while (*words) {
        size_t n = strcspn(words, ",");
        unsigned before = *ret;

        for (unsigned s = 0; s < JOB_STATE_MAX; s++) {
            const char *name = job_state_name((enum job_state)s);

            if (strlen(name) == n && strncmp(name, words, n) == 0)
                *ret |= BIT(s);
        }
        if (*ret == before && n > 0)
            return err_field(err, E_INVALID, "state", "%.*s is no state of a job",
                             (int)i64_min((int64_t)n, 40), words);
        words += words[n] ? n + 1 : n;
    }
    return *ret ? 0 : err_field(err, E_INVALID, "state", "names no state");
}

static int read_list(struct request *r, struct list *list, struct err *err)
{
    const char *words = request_word(r, "state");
    int64_t all = 0;
    int64_t after = 0;
    int rc = request_number(r, "all", 0, 1, &all, err);

    if (rc == 0)
        rc = request_number(r, "after", 0, UINT32_MAX, &after, err);
    if (rc == 0)
        rc = request_number(r, "limit", 1, LIST_MAX, &list->limit, err);
    list->after = (uint32_t)after;
    list->states = (BIT(JOB_STATE_MAX) - 1) & ~(all ? 0u : final_states());
    if (rc == 0 && words)
        rc = parse_states(words, &list->states, err);
    return rc;
}

static void answer_list(struct request *r)
{
    struct list list = {.api = r->api, .limit = LIST_DEFAULT};
    struct err err = {0};
    int rc;

    buf_init(&list.text, ANSWER_MAX);
    buf_puts(&list.text, "{\"jobs\":[");
    rc = read_list(r, &list, &err);
    if (rc == 0 && (list.states & final_states()))
        rc = past_walk(r->api->past, list.after, list_past, &list, &err);
    if (rc < 0) {
        buf_release(&list.text);
        request_fail(r, &err);
        return;
    }
    list_live(&list, UINT32_MAX);
    buf_printf(&list.text, "],\"next\":%u}", list.has_more ? list.last : 0);
    request_json(r, 200, &list.text);
}

static void poll_list(struct request *r)
{
    if (is_failing(r->api) || request_is_durable(r))
        answer_list(r);
}

void handle_list(struct request *r)
{
    if (!request_word(r, "all") && !request_word(r, "state")) {
        answer_list(r);
        return;
    }
    request_park_until_durable(r, poll_list); /* no job is between core and disk then */
    poll_list(r);
}
