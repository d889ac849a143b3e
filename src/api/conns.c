/* SPDX-License-Identifier: Apache-2.0 */
/* conns.c - see conns.h.
 *
 * The library could accept by itself, but at its limit it would stop until some client
 * left, and would not look at the listening socket again before the next event of another
 * connection. So it gets connections that we have accepted. An idle one is let go by
 * shutting its socket down: to the library its client has left, and it cleans up. */
#include "api/conns.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "loop/socket.h"
#include "wire/answer.h"

#define REST_US     (100 * USEC_PER_MSEC)
#define REFUSAL_MAX 1024
#define REFUSAL_HEAD                                                                     \
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"                          \
    "Retry-After: 1\r\nContent-Type: application/problem+json\r\n"

static void leave_idle(struct conn *conn)
{
    struct conns *conns = conn->conns;

    if (!conn->is_idle)
        return;
    conn->is_idle = false;
    if (conn->prev)
        conn->prev->next = conn->next;
    else
        conns->first = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    else
        conns->last = conn->prev;
}

void conn_set_busy(struct conn *conn)
{
    leave_idle(conn);
}

void conn_set_idle(struct conn *conn)
{
    struct conns *conns = conn->conns;

    leave_idle(conn);
    if (conn->is_evicted)
        return;
    conn->is_idle = true;
    conn->prev = conns->last;
    conn->next = NULL;
    if (conns->last)
        conns->last->next = conn;
    else
        conns->first = conn;
    conns->last = conn;
}

/* False: every connection waits for an answer. */
static bool evict(struct conns *conns)
{
    struct conn *conn = conns->first;

    if (!conn)
        return false;
    leave_idle(conn);
    conn->is_evicted = true;
    conns->n_evicted++;
    (void)shutdown(conn->fd, SHUT_RDWR);
    return true;
}

static void refuse(int fd)
{
    struct err err = {0};
    struct buf body;
    char text[REFUSAL_MAX];
    int n;

    (void)err_set(&err, E_AGAIN, "%d requests wait for answers; ask again", CONNS_MAX);
    buf_init(&body, REFUSAL_MAX / 2);
    answer_problem(503, "Service Unavailable", &err, &body);
    n = snprintf(text, sizeof text, REFUSAL_HEAD "Content-Length: %zu\r\n\r\n%s",
                 body.len, body.text);
    if (buf_error(&body) == 0 && n > 0 && (size_t)n < sizeof text)
        (void)!send(fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
    buf_release(&body);
    (void)close(fd);
}

static void add(struct conns *conns, int fd)
{
    const struct sockaddr_un nobody = {.sun_family = AF_UNIX};
    struct conn *conn = mem_new(1, sizeof(*conn));

    if (!conn) {
        (void)close(fd);
        return;
    }
    *conn = (struct conn){.conns = conns, .fd = fd};
    conns->adding = conn;
    /* On failure, too, the socket is closed. */
    (void)MHD_add_connection(conns->http, fd, (const struct sockaddr *)&nobody,
                             sizeof(nobody.sun_family));
    if (conns->adding) /* the library never came to know it */
        mem_free(conns->adding);
    conns->adding = NULL;
}

static void take(struct conns *conns, int fd)
{
    if (conns->n - conns->n_evicted < CONNS_MAX || evict(conns))
        add(conns, fd);
    else
        refuse(fd);
}

static void rest(struct conns *conns)
{
    loop_watch_free(conns->watch);
    conns->watch = NULL;
    loop_timer_set(conns->rest, REST_US);
}

static void on_listener(void *arg)
{
    struct conns *conns = arg;
    int fd = -1;
    int rc = 0;

    for (int i = 0; i < CONNS_ROUND && conns->n < CONNS_LIBRARY_MAX && rc == 0; i++) {
        rc = socket_accept(conns->listen_fd, &fd);
        if (rc == 0)
            take(conns, fd);
    }
    if (rc < 0 && rc != E_AGAIN) { /* descriptors are spent, or memory is */
        (void)evict(conns);
        rest(conns);
    }
    conns->run(conns->arg);
}

static void on_rest(void *arg)
{
    struct conns *conns = arg;

    conns->watch = loop_watch_new(conns->loop, conns->listen_fd, on_listener, conns);
    if (!conns->watch)
        loop_timer_set(conns->rest, REST_US);
}

int conns_begin(struct conns *conns, struct loop *loop, int listen_fd,
                struct MHD_Daemon *http, struct err *err)
{
    conns->loop = loop;
    conns->listen_fd = listen_fd;
    conns->http = http;
    conns->rest = loop_timer_new(loop, on_rest, conns);
    conns->watch = loop_watch_new(loop, listen_fd, on_listener, conns);
    return conns->rest && conns->watch
               ? 0
               : err_set(err, E_NOMEM, "out of memory or descriptors");
}

void conns_end(struct conns *conns)
{
    loop_watch_free(conns->watch);
    loop_timer_free(conns->rest);
    conns->watch = NULL;
    conns->rest = NULL;
}

void conns_notify(void *arg, struct MHD_Connection *connection, void **inout_conn,
                  enum MHD_ConnectionNotificationCode what)
{
    struct conns *conns = arg;
    struct conn *conn = *inout_conn;

    (void)connection;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        conn = conns->adding;
        ASSERT(conn);
        conns->adding = NULL;
        *inout_conn = conn;
        conns->n++;
        conn_set_idle(conn);
        return;
    }
    *inout_conn = NULL;
    leave_idle(conn);
    conns->n--;
    conns->n_evicted -= conn->is_evicted;
    mem_free(conn);
}

struct conn *conns_find(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}
