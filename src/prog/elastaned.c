/* SPDX-License-Identifier: Apache-2.0 */
/* elastaned.c - the daemon: loop, store, backend and api around one engine.
 *
 * Running: an event leads to a kick, a kick to one engine_run(), whose answer sets the
 * timer for the next; the store's thread wakes the loop when rows are durable. Ending: on
 * SIGTERM or SIGINT a snapshot is taken, rows on their way are waited for, jobs train on.
 * How it begins: elastaned_begin.c. */
#include "prog/elastaned.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "loop/notify.h"

#define RETRY_US    (100 * USEC_PER_MSEC) /* after the engine ran out of memory */
#define DESCRIPTORS 4096

void say(int priority, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (getenv("JOURNAL_STREAM"))
        (void)fprintf(stderr, "<%d>%s\n", priority, text);
    else
        (void)fprintf(stderr, "elastaned: %s\n", text);
}

void daemon_log(void *arg, int priority, const char *text)
{
    (void)arg;
    say(priority, "%s", text);
}

void say_err(const struct err *err)
{
    say(LOG_ERROR, "%s%s%s", err->field, err->field[0] ? " " : "", err->text);
}

void daemon_kick(void *arg)
{
    struct daemon *d = arg;

    loop_timer_set(d->run, 0);
}

/* Whether all that was decided is on the disk, or cannot be now. */
static bool is_settled(struct daemon *d)
{
    struct store_progress progress;

    store_get_progress(d->store, &progress);
    return progress.is_failing || progress.durable_seq >= engine_seq(d->engine);
}

void daemon_run_engine(void *arg)
{
    struct daemon *d = arg;
    usec_t next_us;

    if (d->is_stopping) {
        if (is_settled(d))
            loop_stop(d->loop);
        return;
    }
    next_us = engine_run(d->engine, clock_now(&d->clock));
    if (next_us < 0)
        loop_timer_set(d->run, RETRY_US);
    else
        loop_timer_set(d->run, next_us == USEC_NEVER ? USEC_NEVER
                                                     : next_us - clock_now(&d->clock));
    api_tick(d->api);
}

void daemon_on_store_news(void *arg)
{
    struct daemon *d = arg;
    bool was_blocked = engine_is_blocked(d->engine, NULL);
    struct err why = {0};

    if (!store_poll(d->store, d->engine))
        return;
    if (engine_is_blocked(d->engine, &why) && !was_blocked)
        say(LOG_ERROR,
            "the journal cannot be written: %s; requests are refused, jobs go on",
            why.text);
    if (!engine_is_blocked(d->engine, NULL) && was_blocked)
        say(LOG_INFO, "the journal is written again");
    daemon_run_engine(d);
}

void daemon_on_stop(void *arg)
{
    struct daemon *d = arg;
    int rc;

    if (d->is_stopping) { /* a second signal does not wait */
        loop_stop(d->loop);
        return;
    }
    d->is_stopping = true;
    say(LOG_INFO, "stopping; jobs go on");
    notify_send(getenv("NOTIFY_SOCKET"), "STOPPING=1");
    api_stop(d->api);
    rc = engine_snapshot(d->engine);
    if (rc < 0)
        say(LOG_WARNING, "no snapshot: %s; the journal is enough", err_name(rc));
    loop_timer_set(d->run, 0);
}

void daemon_on_hangup(void *arg)
{
    (void)arg; /* a terminal that closes is no reason to stop */
}

/* Each client and each shim is a descriptor. Jobs inherit the limit, so it is modest. */
static void raise_limits(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS)
        return;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
    static struct daemon d = {.listen_fd = -1};
    struct err err = {0};
    enum options_verdict verdict = options_read(argc, argv, &d.options, &err);

    if (verdict == OPTIONS_DONE)
        return EXIT_SUCCESS;
    if (verdict == OPTIONS_WRONG) {
        if (err.code)
            say_err(&err);
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error like others */
    raise_limits();
    if (daemon_start(&d, &err) < 0) {
        say_err(&err);
        d.has_failed = true;
    } else {
        (void)printf("ready %s\n", d.options.socket);
        (void)fflush(stdout);
        notify_send(getenv("NOTIFY_SOCKET"), "READY=1");
        loop_run(d.loop);
    }
    daemon_release(&d);
    return d.has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
