/* SPDX-License-Identifier: Apache-2.0 */
/* logs.c - what ranks wrote, as it is or as it grows.
 *
 * The answer is made piece by piece by a callback of the library. With follow=1 it is
 * suspended when there is nothing new, and resumed FOLLOW_US later; so a file is looked
 * at five times a second while somebody follows it, and never else. */
#include <stdio.h>
#include <string.h>

#include "api/jobs.h"
#include "backend/local/joblog.h"
#include "base/mem.h"
#include "wire/launch.h"

#define FOLLOW_US      (200 * USEC_PER_MSEC)
#define FOLLOW_LONGEST (60 * USEC_PER_SEC)
#define PIECE_BYTES    ((size_t)16 << 10)

struct tail {
    struct api *api;
    struct tail *prev, *next; /* those that follow */
    bool is_suspended;
    struct MHD_Connection *connection;
    struct loop_timer *timer; /* NULL: does not follow */
    struct joblog log;
    char *log_dir;
    int64_t offset; /* of the answer's first byte, and what was passed over since */
    usec_t until_us;
};

static void tail_free(void *arg)
{
    struct tail *t = arg;

    if (t->timer) {
        if (t->prev)
            t->prev->next = t->next;
        else
            t->api->tails = t->next;
        if (t->next)
            t->next->prev = t->prev;
    }
    loop_timer_free(t->timer);
    mem_free(t->log_dir);
    mem_free(t);
}

static void on_follow(void *arg)
{
    struct tail *t = arg;

    if (!t->is_suspended)
        return;
    t->is_suspended = false;
    MHD_resume_connection(t->connection);
    api_wake_http(t->api);
}

void logs_end(struct api *api)
{
    for (struct tail *t = api->tails; t; t = t->next)
        on_follow(t);
}

static int follow(struct tail *t, struct err *err)
{
    t->timer = loop_timer_new(t->api->loop, on_follow, t);
    if (!t->timer)
        return err_set(err, E_NOMEM, "out of memory");
    t->next = t->api->tails;
    if (t->next)
        t->next->prev = t;
    t->api->tails = t;
    return 0;
}

/* Whether more may come. Incarnations may have been added. */
static bool look_at_job(struct tail *t)
{
    const struct job *job = core_find_job(engine_core(t->api->engine), t->log.job);
    struct past_job past;

    if (job) {
        t->log.incarnations = job->run.incarnation;
        return true;
    }
    if (past_find(t->api->past, t->log.job, &past, NULL) == 0) {
        t->log.incarnations = past.run.incarnation;
        past_job_release(&past);
    }
    return false;
}

static ssize_t read_piece(void *arg, uint64_t pos, char *to, size_t max)
{
    struct tail *t = arg;
    bool is_live = t->timer && look_at_job(t);
    int64_t offset = t->offset + (int64_t)pos;
    struct joblog_piece piece = {.bytes = to, .room = max};
    int rc = joblog_read(&t->log, offset, &piece);

    if (rc < 0 && rc != E_NOTFOUND)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (piece.n > 0 && piece.offset > offset && t->timer)
        return MHD_CONTENT_READER_END_OF_STREAM; /* the next answer says where it begins
                                                  */
    t->offset += piece.offset - offset;
    if (rc == 0 && piece.n > 0)
        return (ssize_t)piece.n;
    if (!is_live || t->api->is_stopping || clock_now(t->api->clock) >= t->until_us)
        return MHD_CONTENT_READER_END_OF_STREAM;
    t->is_suspended = true;
    MHD_suspend_connection(t->connection);
    loop_timer_set(t->timer, FOLLOW_US);
    return 0;
}

/* Finds the job's log; the launch text says where it is. */
static int set_log(struct tail *t, const struct job_spec *spec, const struct job_run *run,
                   struct err *err)
{
    struct launch_request launch;

    launch_init(&launch);
    if (spec->launch &&
        launch_decode(spec->launch, strlen(spec->launch), &launch, err) == 0) {
        t->log_dir = launch.log_dir;
        launch.log_dir = NULL;
    }
    launch_release(&launch);
    t->log.log_dir = t->log_dir;
    t->log.jobs_fd = local_jobs_fd(t->api->local);
    t->log.job = spec->id;
    t->log.uid = spec->uid;
    t->log.incarnations = run->incarnation;
    return 0;
}

/* Passes over what is not kept. A rank that has written nothing exists all the same while
 * it runs. */
static int begin_reading(struct tail *t, int32_t size, struct err *err)
{
    char byte;
    struct joblog_piece piece = {.bytes = &byte, .room = 1};
    int rc = joblog_read(&t->log, t->offset, &piece);

    t->offset = piece.offset;
    if (t->log.rank < i32_max(size, 1) || rc != E_NOTFOUND)
        return 0;
    return err_field(err, E_NOTFOUND, "rank", "%d has not run", t->log.rank);
}

static int open_tail(struct request *r, struct tail *t, struct err *err)
{
    const struct job *job = core_find_job(engine_core(t->api->engine), r->match.job);
    struct past_job past;
    int32_t size = 0;
    int rc;

    if (job) {
        rc = set_log(t, &job->spec, &job->run, err);
        size = job->run.plan.size;
    } else {
        rc = past_find(t->api->past, r->match.job, &past, err);
        if (rc == 0) {
            rc = set_log(t, &past.spec, &past.run, err);
            past_job_release(&past);
        }
    }
    return rc < 0 ? rc : begin_reading(t, size, err);
}

static int make_tail(struct request *r, struct tail *t, struct err *err)
{
    int64_t rank = 0;
    int64_t wants_more = 0;
    int rc = request_number(r, "rank", 0, SIZE_MAX_DEVICES, &rank, err);

    if (rc == 0)
        rc = request_number(r, "offset", 0, INT64_MAX / 2, &t->offset, err);
    if (rc == 0)
        rc = request_number(r, "follow", 0, 1, &wants_more, err);
    t->log.rank = (int32_t)rank;
    t->until_us = clock_now(t->api->clock) + FOLLOW_LONGEST;
    if (rc == 0)
        rc = open_tail(r, t, err);
    return rc == 0 && wants_more ? follow(t, err) : rc;
}

static void add_headers(struct MHD_Response *response, const struct tail *t)
{
    char offset[24];

    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                  "application/octet-stream");
    (void)snprintf(offset, sizeof(offset), "%lld", (long long)t->offset);
    (void)MHD_add_response_header(response, "Elastane-Log-Offset", offset);
}

static void answer_logs(struct request *r)
{
    bool may_come = r->seq == 0 && api_has_undurable(r->api); /* asked before we look */
    struct tail *t = mem_new(1, sizeof(*t));
    struct MHD_Response *response = NULL;
    struct err err = {0};
    int rc = t ? 0 : err_set(&err, E_NOMEM, "out of memory");

    if (rc == 0) {
        t->api = r->api;
        t->connection = r->connection;
        rc = make_tail(r, t, &err);
    }
    if (rc == 0) {
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE_BYTES,
                                                     read_piece, t, tail_free);
        rc = response ? 0 : err_set(&err, E_NOMEM, "out of memory");
    }
    if (rc == 0) {
        add_headers(response, t);
        request_respond(r, 200, response);
        return;
    }
    if (t)
        tail_free(t);
    if (rc == E_NOTFOUND && may_come)
        return; /* the job may be between core and disk */
    request_fail(r, &err);
}

static void poll_logs(struct request *r)
{
    if (request_is_durable(r))
        answer_logs(r);
}

void handle_logs(struct request *r)
{
    answer_logs(r);
    if (!request_is_answered(r))
        request_park_until_durable(r, poll_logs);
}
