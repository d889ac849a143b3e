/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - the daemon's one loop, in its one thread; the only door to libuv.
 *
 * Everything here but loop_wake_send() is called from the loop's thread. Callbacks come
 * from loop_run() alone, never from within the call that asked for them. Each thing made
 * here belongs to who made it until its x_free(), after which its callback does not come
 * any more; the memory goes when libuv has let go of it. x_free(NULL) does nothing. */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/units.h"

struct loop;
typedef void (*loop_fn)(void *arg);

/* NULL when out of memory or descriptors. */
struct loop *loop_new(void);
/* Everything made in it must have been freed. */
void loop_free(struct loop *loop);
/* Until loop_stop(). */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

struct loop_timer;
struct loop_timer *loop_timer_new(struct loop *loop, loop_fn fn, void *arg);
void loop_timer_free(struct loop_timer *timer);
/* Rounded up to milliseconds; USEC_NEVER clears it. */
void loop_timer_set(struct loop_timer *timer, usec_t span_us);
bool loop_timer_is_set(const struct loop_timer *timer);

struct loop_wake;
struct loop_wake *loop_wake_new(struct loop *loop, loop_fn fn, void *arg);
void loop_wake_free(struct loop_wake *wake);
void loop_wake_send(struct loop_wake *wake);

struct loop_signal;
struct loop_signal *loop_signal_new(struct loop *loop, int signo, loop_fn fn, void *arg);
void loop_signal_free(struct loop_signal *signal);

struct loop_watch;
struct loop_watch *loop_watch_new(struct loop *loop, int fd, loop_fn fn, void *arg);
void loop_watch_free(struct loop_watch *watch);

struct loop_stream;
struct loop_stream_ops {
    void (*bytes)(void *arg, const uint8_t *bytes, size_t n);
    /* The peer is gone or does not read; nothing comes after it but loop_stream_free(),
     * which is the owner's to call. */
    void (*closed)(void *arg);
};
/* Takes fd over, on failure too. The ops are lent for the stream's life. */
struct loop_stream *loop_stream_new(struct loop *loop, int fd,
                                    const struct loop_stream_ops *ops, void *arg);
/* What was sent and has not left yet is dropped. */
void loop_stream_free(struct loop_stream *stream);
/* Copies. 0, E_NOMEM, E_IO (the peer is gone; `closed` will come), or E_LIMIT when
 * LOOP_STREAM_QUEUE bytes wait for a peer that does not read. */
int loop_stream_send(struct loop_stream *stream, const void *bytes, size_t n);
#define LOOP_STREAM_QUEUE ((size_t)256 << 10)

struct loop_child_end {
    int status;      /* exit status; of one that a signal ended: 0 */
    int signo;       /* that ended it; 0: none */
    const char *out; /* what it said on standard output, cut at LOOP_CHILD_TEXT */
    const char *err; /* and on standard error */
};
#define LOOP_CHILD_TEXT 512
typedef void (*loop_child_fn)(void *arg, const struct loop_child_end *end);
/* Runs argv (argv[0] is a path) in a session of its own, with our environment and
 * /dev/null as standard input; fn is called once, when it has ended and closed both
 * outputs. E_NOTFOUND, E_DENIED, E_NOMEM or E_IO: it was not started and fn is not
 * called. A child that still runs when its owner goes must be dropped:
 * loop_child_drop() keeps fn from being called. */
struct loop_child;
int loop_child_spawn(struct loop *loop, const char *const *argv, loop_child_fn fn,
                     void *arg, struct loop_child **ret, struct err *err) ATTR_MUST_USE;
void loop_child_drop(struct loop_child *child);

#endif
