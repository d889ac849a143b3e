/* SPDX-License-Identifier: Apache-2.0 */
/* api.c - libmicrohttpd in external epoll mode, and the life of requests.
 *
 * The library has no thread of its own: its epoll descriptor and its timeout are watched
 * by the loop, and MHD_run() does what is due. Invariants:
 *   1. A request without an answer is suspended; it is resumed when it is answered, and
 *      by nothing else. So its memory lives as long as anybody owes it an answer.
 *   2. MHD_run() is never entered twice; an answer that comes meanwhile asks for another
 *      round.
 *   3. A body is read to its end even when it is refused, so that the client hears why;
 *      beyond BODY_READ_MAX the connection is cut.
 * Slow clients run into the connection's timeout; suspended requests are not timed by the
 * library but by their own deadlines. */
#include "api/api.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/request.h"
#include "base/assert.h"
#include "base/mem.h"
#include "base/text.h"
#include "wire/answer.h"
#include "wire/submit.h"

#define CONNECTION_IDLE_S 10u
#define CONNECTION_MEM    ((size_t)32 << 10)
#define BODY_READ_MAX     ((int64_t)64 << 20)
#define RETRY_AFTER_S     "1"
#define FINISH_ROUNDS     8
#define OWED_PATIENCE_US  (2 * USEC_PER_SEC)
#define DURABLE_PATIENCE_US                                                              \
    (5 * USEC_PER_SEC) /* a commit may take long; a client waits so long */

static const struct {
    bool has_body;
    void (*handle)(struct request *r);
    const char *parameters[4]; /* of the query */
} handlers[ROUTE_MAX] = {
    [ROUTE_LIST] = {false, handle_list, {"state", "all", "after", "limit"}},
    [ROUTE_SUBMIT] = {true, handle_submit, {NULL}},
    [ROUTE_JOB] = {false, handle_job, {NULL}},
    [ROUTE_UPDATE] = {true, handle_update, {NULL}},
    [ROUTE_CANCEL] = {false, handle_action, {NULL}},
    [ROUTE_PAUSE] = {false, handle_action, {NULL}},
    [ROUTE_RESUME] = {false, handle_action, {NULL}},
    [ROUTE_WAIT] = {false, handle_wait, {"timeout_s"}},
    [ROUTE_LOGS] = {false, handle_logs, {"rank", "offset", "follow"}},
    [ROUTE_EXPLAIN] = {false, handle_explain, {NULL}},
    [ROUTE_NODES] = {false, handle_nodes, {NULL}},
    [ROUTE_STATUS] = {false, handle_status, {NULL}},
    [ROUTE_CALIBRATION] = {false, handle_calibration, {"timeout_s"}},
    [ROUTE_CALIBRATE] = {false, handle_calibrate, {NULL}},
};

static const struct {
    int code;
    unsigned status;
    const char *title;
} statuses[] = {
    {E_INVALID, 400, "Bad Request"},       {E_DENIED, 403, "Forbidden"},
    {E_NOTFOUND, 404, "Not Found"},        {E_STATE, 409, "Conflict"},
    {E_EXISTS, 409, "Conflict"},           {E_BUSY, 409, "Conflict"},
    {E_LIMIT, 413, "Content Too Large"},   {E_INFEASIBLE, 422, "Unprocessable Content"},
    {E_AGAIN, 503, "Service Unavailable"}, {E_NOMEM, 503, "Service Unavailable"},
};

void api_wake_http(struct api *api)
{
    api->wants_run = true;
    if (!api->is_running)
        loop_timer_set(api->http_timer, 0);
}

static void leave_park(struct request *r)
{
    struct api *api = r->api;

    if (!r->poll)
        return;
    r->poll = NULL;
    if (r->prev)
        r->prev->next = r->next;
    else
        api->parked = r->next;
    if (r->next)
        r->next->prev = r->prev;
}

bool request_is_answered(const struct request *r)
{
    return r->response || r->is_cut;
}

void request_respond(struct request *r, unsigned status, struct MHD_Response *response)
{
    ASSERT(!r->response);
    ASSERT(!r->is_cut);
    leave_park(r);
    r->response = response;
    r->is_cut = response == NULL;
    r->status = status;
    if (!r->is_suspended)
        return;
    r->is_suspended = false;
    MHD_resume_connection(r->connection);
    api_wake_http(r->api);
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    (void)MHD_add_response_header(response, name,
                                  value); /* without it, it is still true */
}

static struct MHD_Response *text_response(struct buf *text, const char *type)
{
    size_t n = text->len;
    char *taken = buf_take(text);
    struct MHD_Response *response = NULL;

    if (taken)
        response = MHD_create_response_from_buffer_with_free_callback(n, taken, mem_free);
    if (!response)
        mem_free(taken);
    else
        add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    return response;
}

static void respond_problem(struct request *r, unsigned status, const char *title,
                            const struct err *err)
{
    struct MHD_Response *response;
    struct buf text;

    buf_init(&text, 4096);
    answer_problem((int)status, title, err, &text);
    response = text_response(&text, "application/problem+json");
    buf_release(&text);
    if (!response) { /* not even memory for that: the connection is cut */
        request_respond(r, status, NULL);
        return;
    }
    if (status == 405)
        add_header(response, MHD_HTTP_HEADER_ALLOW, r->match.allow);
    if (status == 503)
        add_header(response, MHD_HTTP_HEADER_RETRY_AFTER, RETRY_AFTER_S);
    request_respond(r, status, response);
}

void request_fail(struct request *r, const struct err *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
        if (statuses[i].code == err->code) {
            respond_problem(r, statuses[i].status, statuses[i].title, err);
            return;
        }
    respond_problem(r, 500, "Internal Server Error", err);
}

void request_json(struct request *r, unsigned status, struct buf *text)
{
    struct MHD_Response *response;
    struct err err = {0};
    char location[48];

    if (buf_error(text) < 0) {
        (void)err_set(&err, buf_error(text) == E_LIMIT ? E_LIMIT : E_NOMEM,
                      "the answer is too large; ask for less");
        buf_release(text);
        request_fail(r, &err);
        return;
    }
    response = text_response(text, "application/json");
    buf_release(text);
    if (!response) {
        (void)err_set(&err, E_NOMEM, "out of memory");
        request_fail(r, &err);
        return;
    }
    if (status == 201) {
        (void)snprintf(location, sizeof(location), "/v1/jobs/%u", r->match.job);
        add_header(response, MHD_HTTP_HEADER_LOCATION, location);
    }
    request_respond(r, status, response);
}

static void set_park_timer(struct api *api)
{
    usec_t first_us = USEC_NEVER;

    for (struct request *r = api->parked; r; r = r->next)
        first_us = i64_min(first_us, r->deadline_us);
    loop_timer_set(api->park_timer, first_us == USEC_NEVER
                                        ? USEC_NEVER
                                        : first_us - clock_now(api->clock));
}

void request_park(struct request *r, request_poll_fn poll, usec_t deadline_us)
{
    struct api *api = r->api;

    r->deadline_us = deadline_us;
    if (!r->poll) {
        r->prev = NULL;
        r->next = api->parked;
        if (r->next)
            r->next->prev = r;
        api->parked = r;
    }
    r->poll = poll;
    set_park_timer(api);
}

bool api_has_undurable(const struct api *api)
{
    struct store_progress progress;

    store_get_progress(api->store, &progress);
    return progress.durable_seq < engine_seq(api->engine);
}

void request_park_until_durable(struct request *r, request_poll_fn poll)
{
    usec_t until_us =
        r->seq > 0 ? r->deadline_us : clock_now(r->api->clock) + DURABLE_PATIENCE_US;

    r->seq = engine_seq(r->api->engine);
    request_park(r, poll, until_us);
}

bool request_is_late(const struct request *r)
{
    return r->seq > 0 && r->deadline_us <= clock_now(r->api->clock);
}

bool request_is_durable(struct request *r)
{
    struct store_progress progress;
    struct err err = {0};

    store_get_progress(r->api->store, &progress);
    if (progress.durable_seq >= r->seq)
        return true;
    if (progress.is_failing) {
        (void)err_set(&err, E_AGAIN, "the journal cannot be written now: %s",
                      progress.why.text);
        request_fail(r, &err);
    } else if (request_is_late(r)) {
        (void)err_set(&err, E_AGAIN,
                      "what was decided has not reached the disk for %d s: it is slow; "
                      "ask again",
                      (int)(DURABLE_PATIENCE_US / USEC_PER_SEC));
        request_fail(r, &err);
    }
    return false;
}

void api_tick(struct api *api)
{
    struct request *next;

    for (struct request *r = api->parked; r; r = next) {
        next = r->next; /* poll may take r out, and nobody else */
        r->poll(r);
    }
    set_park_timer(api);
}

static void on_park_timer(void *arg)
{
    api_tick(arg);
}

static void request_free(struct request *r);

static void on_engine_answer(void *arg, int rc, const struct err *err, uint32_t job)
{
    struct request *r = arg;
    engine_answer_fn answer = r->answer;

    r->answer = NULL;
    leave_park(r);
    if (r->is_orphan)
        request_free(r);
    else if (!request_is_answered(r) && !r->is_told)
        answer(r, rc, err, job);
}

/* While the journal cannot be written nobody knows what becomes of the request. */
static void poll_owed(struct request *r)
{
    usec_t now_us = clock_now(r->api->clock);
    struct err why = {0};
    struct err err = {0};

    if (!engine_is_blocked(r->api->engine, &why)) {
        r->deadline_us = USEC_NEVER;
    } else if (r->deadline_us == USEC_NEVER) {
        r->deadline_us = now_us + OWED_PATIENCE_US;
    } else if (r->deadline_us <= now_us) {
        (void)err_set(&err, E_AGAIN,
                      "the journal cannot be written now (%s); the request may still be "
                      "carried out when it can: look before you repeat it",
                      why.text);
        request_fail(r, &err);
    }
}

void request_post(struct request *r, const struct event *event, engine_answer_fn answer)
{
    struct api *api = r->api;
    struct event e = *event;
    struct err err = {0};
    int rc;

    e.time_us = clock_now(api->clock);
    rc = engine_post(api->engine, &e, on_engine_answer, r);
    if (rc < 0) {
        (void)err_set(&err, rc, "too many requests wait; ask again");
        request_fail(r, &err);
        return;
    }
    r->answer = answer;
    request_park(r, poll_owed, USEC_NEVER);
    api->kick(api->arg);
}

const char *request_word(struct request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

int request_number(struct request *r, const char *name, int64_t min, int64_t max,
                   int64_t *inout, struct err *err)
{
    const char *text = request_word(r, name);
    struct err why = {0};
    int rc;

    if (!text)
        return 0;
    rc = text_parse_int(text, strlen(text), min, max, inout, &why);
    return rc < 0 ? err_field(err, E_INVALID, name, "%s", why.text) : 0;
}

static enum MHD_Result check_parameter(void *arg, enum MHD_ValueKind kind,
                                       const char *name, const char *value)
{
    struct request *r = arg;
    const char *const *known = handlers[r->match.route].parameters;

    (void)kind;
    for (size_t i = 0; i < ARRAY_SIZE(handlers[0].parameters) && known[i]; i++)
        if (text_equal(known[i], name) && value)
            return MHD_YES;
    (void)err_field(&r->refusal, E_INVALID, name,
                    value ? "is not a parameter of this path" : "has no value");
    return MHD_NO;
}

static void request_free(struct request *r)
{
    leave_park(r);
    if (r->response)
        MHD_destroy_response(r->response);
    r->response = NULL;
    if (r->answer) {
        r->is_orphan = true;
        return;
    }
    buf_release(&r->body);
    mem_free(r->warnings);
    mem_free(r);
}

static struct request *request_new(struct api *api, struct MHD_Connection *connection)
{
    struct request *r = mem_new(1, sizeof(*r));
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    if (!r || !info || socket_peer(info->connect_fd, &r->peer) < 0) {
        mem_free(r);
        return NULL;
    }
    r->api = api;
    r->connection = connection;
    r->conn = conns_find(connection);
    buf_init(&r->body, SUBMIT_BODY_MAX);
    return r;
}

static bool is_json(struct MHD_Connection *connection)
{
    static const char json[] = "application/json";
    const char *type = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_CONTENT_TYPE);

    return type && strncasecmp(type, json, sizeof(json) - 1) == 0 &&
           (type[sizeof(json) - 1] == '\0' || type[sizeof(json) - 1] == ';' ||
            type[sizeof(json) - 1] == ' ');
}

/* What can be said before the body has come. */
static void examine(struct request *r, const char *method, const char *path)
{
    if (r->peer.uid != 0 && r->peer.uid != geteuid()) {
        (void)err_set(&r->refusal, E_DENIED,
                      "this daemon serves the user that runs it, and root");
        return;
    }
    if (route_find(method, path, &r->match, &r->refusal) < 0)
        return;
    (void)MHD_get_connection_values(r->connection, MHD_GET_ARGUMENT_KIND, check_parameter,
                                    r);
}

static void take_body(struct request *r, const char *bytes, size_t n)
{
    r->body_bytes += (int64_t)n;
    if (r->refusal.code == 0 && r->match.route < ROUTE_MAX &&
        handlers[r->match.route].has_body)
        buf_add(&r->body, bytes, n);
}

/* The last checks, which need the whole request; then the handler. */
static void begin(struct request *r)
{
    struct err err = {0};

    r->is_begun = true;
    conn_set_busy(r->conn);
    if (r->refusal.code == E_INVALID && r->match.allow[0]) {
        respond_problem(r, 405, "Method Not Allowed", &r->refusal);
    } else if (r->refusal.code < 0) {
        request_fail(r, &r->refusal);
    } else if (r->api->is_stopping) {
        (void)err_set(&err, E_AGAIN, "the daemon is stopping");
        request_fail(r, &err);
    } else if (buf_error(&r->body) < 0) {
        (void)err_set(&err, buf_error(&r->body), "a body has at most %zu bytes",
                      SUBMIT_BODY_MAX);
        request_fail(r, &err);
    } else if (handlers[r->match.route].has_body && !is_json(r->connection)) {
        (void)err_set(&err, E_INVALID, "send the body as application/json");
        respond_problem(r, 415, "Unsupported Media Type", &err);
    } else if (!handlers[r->match.route].has_body && r->body_bytes > 0) {
        (void)err_set(&err, E_INVALID, "this path takes no body");
        request_fail(r, &err);
    } else {
        handlers[r->match.route].handle(r);
    }
}

static enum MHD_Result deliver(struct request *r)
{
    enum MHD_Result rc = MHD_queue_response(r->connection, r->status, r->response);

    r->is_told = true;
    MHD_destroy_response(r->response);
    r->response = NULL;
    return rc;
}

/* NOLINTNEXTLINE(readability-function-size): the library chose the parameters */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection,
                                  const char *path, const char *method,
                                  const char *version, const char *upload,
                                  size_t *upload_n, void **inout_request)
{
    struct api *api = arg;
    struct request *r = *inout_request;

    (void)version;
    if (!r) {
        r = request_new(api, connection);
        if (!r)
            return MHD_NO;
        *inout_request = r;
        examine(r, method, path);
        return MHD_YES;
    }
    if (*upload_n > 0) {
        take_body(r, upload, *upload_n);
        *upload_n = 0;
        return r->body_bytes <= BODY_READ_MAX ? MHD_YES : MHD_NO;
    }
    if (!r->is_begun)
        begin(r);
    if (r->is_cut)
        return MHD_NO;
    if (r->response)
        return deliver(r);
    r->is_suspended = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

static void on_completed(void *arg, struct MHD_Connection *connection,
                         void **inout_request, enum MHD_RequestTerminationCode how)
{
    struct request *r = *inout_request;

    (void)arg;
    (void)connection;
    (void)how;
    if (r) {
        conn_set_idle(r->conn);
        request_free(r);
    }
    *inout_request = NULL;
}

static void run_http(void *arg)
{
    struct api *api = arg;
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;

    if (api->is_running)
        return;
    api->is_running = true;
    api->wants_run = false;
    (void)MHD_run(api->http);
    api->is_running = false;
    if (api->wants_run)
        loop_timer_set(api->http_timer, 0);
    else if (MHD_get_timeout(api->http, &wait_ms) == MHD_YES)
        loop_timer_set(api->http_timer,
                       (usec_t)i64_min((int64_t)wait_ms, 60000) * USEC_PER_MSEC);
    else
        loop_timer_set(api->http_timer, USEC_NEVER);
}

static int start_http(struct api *api, struct err *err)
{
    const union MHD_DaemonInfo *info;

    api->http = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
        NULL, on_request, api, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNS_LIBRARY_MAX,
        MHD_OPTION_NOTIFY_CONNECTION, conns_notify, &api->conns,
        MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEM, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, api, MHD_OPTION_END);
    if (!api->http)
        return err_set(err, E_IO, "libmicrohttpd cannot be started");
    info = MHD_get_daemon_info(api->http, MHD_DAEMON_INFO_EPOLL_FD);
    if (info)
        api->watch = loop_watch_new(api->loop, info->epoll_fd, run_http, api);
    return api->watch ? 0 : err_set(err, E_IO, "libmicrohttpd has no epoll descriptor");
}

int api_new(const struct api_options *o, struct api **ret, struct err *err)
{
    struct api *api = mem_new(1, sizeof(*api));
    int rc = 0;

    if (!api)
        return err_set(err, E_NOMEM, "out of memory");
    *api = (struct api){.loop = o->loop,
                        .clock = o->clock,
                        .engine = o->engine,
                        .store = o->store,
                        .local = o->local,
                        .conns = {.run = run_http, .arg = api},
                        .kick = o->kick,
                        .arg = o->arg};
    api->version = mem_text(o->version);
    api->http_timer = loop_timer_new(o->loop, run_http, api);
    api->park_timer = loop_timer_new(o->loop, on_park_timer, api);
    if (!api->version || !api->http_timer || !api->park_timer)
        rc = err_set(err, E_NOMEM, "out of memory");
    if (rc == 0)
        rc = past_open(o->state_dir, &api->past, err);
    if (rc == 0)
        rc = start_http(api, err);
    if (rc == 0)
        rc = conns_begin(&api->conns, o->loop, o->listen_fd, api->http, err);
    if (rc < 0) {
        api_free(api);
        return rc;
    }
    *ret = api;
    return 0;
}

void api_stop(struct api *api)
{
    struct err err = {0};
    struct request *next;

    api->is_stopping = true;
    (void)err_set(&err, E_AGAIN, "the daemon is stopping");
    for (struct request *r = api->parked; r; r = next) {
        next = r->next;
        if (r->seq == 0 && !r->answer)
            request_fail(r, &err);
    }
    logs_end(api);
}

/* Gives what is answered a chance to leave; nobody waits for a peer that does not read.
 */
static void finish(struct api *api)
{
    struct err err = {0};

    (void)err_set(&err, E_AGAIN, "the daemon is stopping");
    while (api->parked)
        request_fail(api->parked, &err);
    for (int i = 0; i < FINISH_ROUNDS; i++) {
        logs_end(api); /* a suspended connection cannot be closed */
        run_http(api);
    }
    MHD_stop_daemon(api->http);
}

void api_free(struct api *api)
{
    if (!api)
        return;
    api->is_stopping = true;
    conns_end(&api->conns);
    if (api->http)
        finish(api);
    loop_watch_free(api->watch);
    loop_timer_free(api->http_timer);
    loop_timer_free(api->park_timer);
    past_free(api->past);
    mem_free(api->version);
    mem_free(api);
}
