/* SPDX-License-Identifier: Apache-2.0 */
/* conns.h - the connections of clients: taken, bounded, let go; inside api/ alone.
 *
 * A new connection is always taken at once. Beyond CONNS_MAX the one goes that has been
 * idle longest, that is, without a request that has wholly come; only when all of them
 * wait for answers the newcomer hears 503. */
#ifndef API_CONNS_H
#define API_CONNS_H

#include <stdbool.h>
#include <stddef.h>

#include <microhttpd.h>

#include "base/attr.h"
#include "base/err.h"
#include "loop/loop.h"

#define CONNS_MAX   1024
#define CONNS_ROUND 64 /* taken between two runs of the library */
/* The library must never see its own limit: 0.9.75 keeps a mutex locked then. */
#define CONNS_LIBRARY_MAX (CONNS_MAX + 2 * CONNS_ROUND)

struct conns;

/* One client's connection. */
struct conn {
    struct conns *conns;
    struct conn *prev, *next; /* of the idle ones, longest idle first */
    int fd;
    bool is_idle;
    bool is_evicted; /* shut down; the library closes it when it runs next */
};

struct conns {
    struct loop *loop;
    struct MHD_Daemon *http;
    int listen_fd; /* lent */
    struct loop_watch *watch;
    struct loop_timer *rest; /* descriptors are spent: a pause in accepting */
    struct conn *first, *last;
    size_t n; /* that the library has */
    size_t n_evicted;
    struct conn *adding; /* within MHD_add_connection() */
    void (*run)(void *arg);
    void *arg;
};

/* Begins to accept. `run` runs the library; it is called after a round. E_NOMEM. */
int conns_begin(struct conns *conns, struct loop *loop, int listen_fd,
                struct MHD_Daemon *http, struct err *err) ATTR_MUST_USE;
/* Accepts no more. Those that are open end with the library. */
void conns_end(struct conns *conns);

/* The library's MHD_OPTION_NOTIFY_CONNECTION; its argument is the struct conns. */
void conns_notify(void *conns, struct MHD_Connection *connection, void **inout_conn,
                  enum MHD_ConnectionNotificationCode what);
/* The connection in our words; NULL without one. */
struct conn *conns_find(struct MHD_Connection *connection);
/* Its request has wholly come; its answer has gone. */
void conn_set_busy(struct conn *conn);
void conn_set_idle(struct conn *conn);

#endif
