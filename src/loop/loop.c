/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c - the loop itself, timers, wakes, signals, watched descriptors.
 *
 * House rule: a handle lies first in a struct of ours, is closed by x_free(), and its
 * memory is released in the close callback and nowhere else. loop_free() runs the loop
 * until those callbacks have come. */
#include "loop/loop.h"

#include "base/assert.h"
#include "base/mem.h"

#include "loop/loop_internal.h"

/* A signal that is on its way puts the close of its handle off by a round. */
#define CLOSE_ROUNDS 8

struct loop_timer {
    uv_timer_t handle;
    loop_fn fn;
    void *arg;
};

struct loop_wake {
    uv_async_t handle;
    loop_fn fn;
    void *arg;
};

struct loop_signal {
    uv_signal_t handle;
    loop_fn fn;
    void *arg;
};

struct loop_watch {
    uv_poll_t handle;
    loop_fn fn;
    void *arg;
};

int loop_error(int code, const char *what, struct err *err)
{
    int rc = E_IO;

    if (code == UV_ENOENT)
        rc = E_NOTFOUND;
    else if (code == UV_EACCES || code == UV_EPERM)
        rc = E_DENIED;
    else if (code == UV_ENOMEM)
        rc = E_NOMEM;
    return err_set(err, rc, "%s: %s", what, uv_strerror(code));
}

struct loop *loop_new(void)
{
    struct loop *loop = mem_new(1, sizeof(*loop));

    if (loop && uv_loop_init(&loop->uv) != 0) {
        mem_free(loop);
        loop = NULL;
    }
    return loop;
}

void loop_free(struct loop *loop)
{
    int rc;

    if (!loop)
        return;
    for (int i = 0; i < CLOSE_ROUNDS && uv_run(&loop->uv, UV_RUN_NOWAIT) != 0; i++)
        ;
    rc = uv_loop_close(&loop->uv);
    ASSERT(rc == 0); /* somebody has not freed what he made */
    mem_free(loop);
}

void loop_run(struct loop *loop)
{
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop)
{
    uv_stop(&loop->uv);
}

static void on_closed(uv_handle_t *handle)
{
    mem_free(handle);
}

/* A handle that libuv refused to make is not known to it. */
static void *made(void *handle, int code)
{
    if (code == 0)
        return handle;
    mem_free(handle);
    return NULL;
}

struct loop_timer *loop_timer_new(struct loop *loop, loop_fn fn, void *arg)
{
    struct loop_timer *timer = mem_new(1, sizeof(*timer));

    if (!timer)
        return NULL;
    timer->fn = fn;
    timer->arg = arg;
    return made(timer, uv_timer_init(&loop->uv, &timer->handle));
}

void loop_timer_free(struct loop_timer *timer)
{
    if (timer)
        uv_close((uv_handle_t *)&timer->handle, on_closed);
}

static void on_timer(uv_timer_t *handle)
{
    struct loop_timer *timer = (struct loop_timer *)handle;

    timer->fn(timer->arg);
}

void loop_timer_set(struct loop_timer *timer, usec_t span_us)
{
    if (span_us == USEC_NEVER) {
        (void)uv_timer_stop(&timer->handle);
        return;
    }
    uv_update_time(timer->handle.loop); /* spans count from now, not from the last poll */
    (void)uv_timer_start(&timer->handle, on_timer,
                         (uint64_t)i64_div_up(i64_max(0, span_us), USEC_PER_MSEC), 0);
}

bool loop_timer_is_set(const struct loop_timer *timer)
{
    return uv_is_active((const uv_handle_t *)&timer->handle) != 0;
}

static void on_wake(uv_async_t *handle)
{
    struct loop_wake *wake = (struct loop_wake *)handle;

    wake->fn(wake->arg);
}

struct loop_wake *loop_wake_new(struct loop *loop, loop_fn fn, void *arg)
{
    struct loop_wake *wake = mem_new(1, sizeof(*wake));

    if (!wake)
        return NULL;
    wake->fn = fn;
    wake->arg = arg;
    return made(wake, uv_async_init(&loop->uv, &wake->handle, on_wake));
}

void loop_wake_free(struct loop_wake *wake)
{
    if (wake)
        uv_close((uv_handle_t *)&wake->handle, on_closed);
}

void loop_wake_send(struct loop_wake *wake)
{
    (void)uv_async_send(&wake->handle);
}

static void on_signal(uv_signal_t *handle, int signo)
{
    struct loop_signal *signal = (struct loop_signal *)handle;

    (void)signo;
    signal->fn(signal->arg);
}

struct loop_signal *loop_signal_new(struct loop *loop, int signo, loop_fn fn, void *arg)
{
    struct loop_signal *signal = mem_new(1, sizeof(*signal));

    if (!signal)
        return NULL;
    signal->fn = fn;
    signal->arg = arg;
    signal = made(signal, uv_signal_init(&loop->uv, &signal->handle));
    if (signal && uv_signal_start(&signal->handle, on_signal, signo) != 0) {
        loop_signal_free(signal);
        return NULL;
    }
    return signal;
}

void loop_signal_free(struct loop_signal *signal)
{
    if (signal)
        uv_close((uv_handle_t *)&signal->handle, on_closed);
}

static void on_readable(uv_poll_t *handle, int status, int events)
{
    struct loop_watch *watch = (struct loop_watch *)handle;

    (void)status; /* whatever it is, its owner finds out by reading */
    (void)events;
    watch->fn(watch->arg);
}

struct loop_watch *loop_watch_new(struct loop *loop, int fd, loop_fn fn, void *arg)
{
    struct loop_watch *watch = mem_new(1, sizeof(*watch));

    if (!watch)
        return NULL;
    watch->fn = fn;
    watch->arg = arg;
    watch = made(watch, uv_poll_init(&loop->uv, &watch->handle, fd));
    if (watch && uv_poll_start(&watch->handle, UV_READABLE, on_readable) != 0) {
        loop_watch_free(watch);
        return NULL;
    }
    return watch;
}

void loop_watch_free(struct loop_watch *watch)
{
    if (watch)
        uv_close((uv_handle_t *)&watch->handle, on_closed);
}
