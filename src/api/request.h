/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - one request, from its first byte to its answer; inside api/ alone.
 *
 * A handler either answers at once (request_json, request_fail, ...) or parks the request
 * with a function that is asked again and again (request_park), or leaves it to an answer
 * of the engine. A request that has no answer yet is suspended, and so cannot go away.
 * One to which the engine owes an answer lives until that has come, even if the client
 * got another one meanwhile. */
#ifndef API_REQUEST_H
#define API_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <microhttpd.h>

#include "api/api.h"
#include "api/conns.h"
#include "api/past.h"
#include "api/route.h"
#include "base/buf.h"
#include "loop/socket.h"
#include "wire/launch.h"

struct request;
struct tail;
/* Asked after every step of the engine and at the deadline; answers the request, or does
 * nothing. */
typedef void (*request_poll_fn)(struct request *r);

struct request {
    struct api *api;
    struct MHD_Connection *connection;
    struct conn *conn;
    struct route_match match;
    struct socket_peer peer;
    struct err refusal; /* found before the body came; code 0: none */
    struct buf body;
    int64_t body_bytes; /* that came, kept or not */
    bool has_body;      /* the request line is behind us */
    bool is_begun;      /* the handler was called */
    bool is_suspended;
    bool is_told; /* the answer was queued */
    bool is_cut;  /* no memory for an answer: the connection is closed instead */
    struct MHD_Response *response; /* set: the answer; waits to be queued */
    unsigned status;

    request_poll_fn poll; /* set: in the list of parked requests */
    struct request *prev, *next;
    usec_t deadline_us;
    engine_answer_fn answer; /* set: the engine owes one; called if nobody was faster */
    bool is_orphan;          /* the connection is gone, and the engine still owes */
    int64_t seq;             /* of the journal, that must be durable first; 0: none */

    char *warnings;                 /* of a submit or update */
    char vault_key[LAUNCH_KEY + 1]; /* of a submit's environment; "": none */
};

struct api {
    struct loop *loop;
    const struct clock *clock;
    struct engine *engine;
    struct store *store;
    struct local *local;
    struct past *past;
    struct MHD_Daemon *http;
    struct conns conns;
    struct loop_watch *watch;      /* of the library's descriptor */
    struct loop_timer *http_timer; /* libmicrohttpd wants to run */
    struct loop_timer *park_timer; /* the first deadline of a parked request */
    struct request *parked;
    char *version;
    struct tail *tails; /* of logs that are followed (logs.c) */
    bool is_running;    /* within MHD_run() */
    bool wants_run;     /* again */
    bool is_stopping;
    void (*kick)(void *arg);
    void *arg;
};

/* Answers. Each may be called once a request. */
void request_respond(struct request *r, unsigned status, struct MHD_Response *response);
/* Takes the text; an error in the buf becomes a problem. */
void request_json(struct request *r, unsigned status, struct buf *text);
void request_fail(struct request *r, const struct err *err);
bool request_is_answered(const struct request *r);

/* Parks until `poll` answers; deadline USEC_NEVER: none. */
void request_park(struct request *r, request_poll_fn poll, usec_t deadline_us);
/* Parks until what the engine has decided by now is durable, or cannot be made so, or has
 * taken too long since the first call: a disk may be busy for minutes. */
void request_park_until_durable(struct request *r, request_poll_fn poll);
/* Whether what request_park_until_durable() waited for has come; answers with why not
 * when it cannot come now, or too late. */
bool request_is_durable(struct request *r);
/* Whether request_park_until_durable() has waited long enough. */
bool request_is_late(const struct request *r);
/* Whether rows are on their way to the disk. */
bool api_has_undurable(const struct api *api);

/* MHD_run() is wanted: a connection was resumed. */
void api_wake_http(struct api *api);
/* Lets answers that follow a log come to their end; the daemon is stopping. */
void logs_end(struct api *api);

/* Posts an event for the request; `answer` is called with the request as its arg, unless
 * the journal could not be written for a while and the client was told so. A failure is
 * answered. */
void request_post(struct request *r, const struct event *event, engine_answer_fn answer);

/* Query parameters. A whole number within the range; absent leaves *inout. */
int request_number(struct request *r, const char *name, int64_t min, int64_t max,
                   int64_t *inout, struct err *err) ATTR_MUST_USE;
const char *request_word(struct request *r, const char *name); /* NULL: absent */

/* Handlers, by route. */
void handle_list(struct request *r);
void handle_submit(struct request *r);
void handle_job(struct request *r);
void handle_update(struct request *r);
void handle_action(struct request *r); /* cancel, pause, resume */
void handle_wait(struct request *r);
void handle_logs(struct request *r);
void handle_explain(struct request *r);
void handle_nodes(struct request *r);
void handle_status(struct request *r);
void handle_calibration(struct request *r);
void handle_calibrate(struct request *r);

#endif
