/* SPDX-License-Identifier: Apache-2.0 */
/* elastaned.c - the daemon: loop, store, backend and api around one engine.
 *
 * Beginning: lock and open the state, listen, recover, perform the duties of the
 * recovered state, say what has changed meanwhile (settings, nodes), serve. Running: an
 * event leads to a kick, a kick to one engine_run(), whose answer sets the timer for the
 * next; the store's thread wakes the loop when rows are durable. Ending: on SIGTERM or
 * SIGINT a snapshot is taken, rows on their way are waited for, jobs train on. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/api.h"
#include "backend/local/local.h"
#include "backend/local/nvml.h"
#include "engine/engine.h"
#include "loop/clock.h"
#include "loop/loop.h"
#include "loop/notify.h"
#include "loop/socket.h"
#include "prog/elastaned_options.h"
#include "store/store.h"

#define RETRY_US    (100 * USEC_PER_MSEC) /* after the engine ran out of memory */
#define N_SIGNALS   3
#define DESCRIPTORS 4096

enum { LOG_ERROR = 3, LOG_WARNING = 4, LOG_INFO = 6 };

struct daemon {
    struct options options;
    struct clock clock;
    struct loop *loop;
    struct loop_timer *run; /* engine_run() is due */
    struct loop_wake *wake; /* from the store's thread */
    struct loop_signal *signals[N_SIGNALS];
    struct store *store;
    struct engine *engine;
    struct local *local;
    struct api *api;
    int listen_fd;
    struct node node; /* this machine */
    enum order_device device_kind;
    bool is_stopping;
    bool has_failed;
};

static void say(int priority, const char *fmt, ...) ATTR_PRINTF(2, 3);

static void say(int priority, const char *fmt, ...)
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

static void log_line(void *arg, int priority, const char *text)
{
    (void)arg;
    say(priority, "%s", text);
}

static void say_err(const struct err *err)
{
    say(LOG_ERROR, "%s%s%s", err->field, err->field[0] ? " " : "", err->text);
}

/* --- Running. --------------------------------------------------------------------- */

static void kick(void *arg)
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

static void run_engine(void *arg)
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

static void on_store_news(void *arg)
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
    run_engine(d);
}

static void on_notify(void *arg) /* the store's thread */
{
    struct daemon *d = arg;

    loop_wake_send(d->wake);
}

static void on_stop(void *arg)
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

static void on_hangup(void *arg)
{
    (void)arg; /* a terminal that closes is no reason to stop */
}

/* --- Beginning. ------------------------------------------------------------------- */

static int find_devices(struct daemon *d, struct err *err)
{
    static struct nvml_device gpus[NODE_DEVICES_MAX];
    char why[NVML_WHY_BYTES];
    struct node *node = &d->node;

    (void)snprintf(node->name, sizeof(node->name), "%s", d->options.node);
    d->device_kind = ORDER_CPU;
    (void)snprintf(node->device_type, sizeof(node->device_type), "cpu");
    node->devices = d->options.devices;
    if (d->options.devices < 0) {
        node->devices = nvml_discover(gpus, NODE_DEVICES_MAX, why);
        d->device_kind = ORDER_CUDA;
        nvml_device_type(gpus, node->devices, node->device_type);
        if (node->devices == 0)
            say(LOG_WARNING, "%s; jobs will wait. For CPU slots use --devices N", why);
    }
    if (strchr(node->name, '/'))
        return err_field(err, E_INVALID, "node-name", "has a '/' in it");
    return 0;
}

/* A node cannot change its size: devices are numbered through. */
static int check_nodes(const struct daemon *d, struct err *err)
{
    const struct cluster *cluster = core_cluster(engine_core(d->engine));
    const struct node *known = cluster_find_node(cluster, d->node.name);

    if (!known || known->devices == d->node.devices)
        return 0;
    return err_field(err, E_STATE, "devices",
                     "of node %s were %d in this state and are %d now; give the machine "
                     "another name with --node-name (what ran under the old one starts "
                     "anew), or use --devices %d",
                     known->name, known->devices, d->node.devices, known->devices);
}

/* Events of the start are ours; what refuses them is told, and the daemon ends. */
static void on_first(void *arg, int rc, const struct err *err, uint32_t job)
{
    struct daemon *d = arg;

    (void)job;
    if (rc == 0 || rc == E_AGAIN)
        return;
    say_err(err);
    d->has_failed = true;
    loop_stop(d->loop);
}

static int post_first(struct daemon *d, const struct event *event)
{
    struct event e = *event;

    e.time_us = clock_now(&d->clock);
    return engine_post(d->engine, &e, on_first, d);
}

/* This backend has one machine: nodes of other names are gone. */
static int post_lost_nodes(struct daemon *d)
{
    const struct cluster *cluster = core_cluster(engine_core(d->engine));
    struct event event = {.kind = EVENT_NODE_LOST};
    int rc = 0;

    for (int32_t i = 0; i < cluster->n_nodes && rc == 0; i++) {
        event.node = cluster->nodes[i];
        if (event.node.state == NODE_UP && strcmp(event.node.name, d->node.name) != 0)
            rc = post_first(d, &event);
    }
    return rc;
}

static int post_news(struct daemon *d, struct err *err)
{
    struct event event = {.kind = EVENT_DAEMON_START};
    const struct config *old = core_config(engine_core(d->engine));
    int rc = post_first(d, &event);

    event = (struct event){.kind = EVENT_CONFIG, .config = *old};
    options_apply(&d->options, &event.config);
    if (rc == 0)
        rc = config_check(&event.config, err);
    if (rc == 0 && memcmp(&event.config, old, sizeof(*old)) != 0)
        rc = post_first(d, &event);
    if (rc == 0)
        rc = post_lost_nodes(d);
    event = (struct event){.kind = EVENT_NODE_UP, .node = d->node};
    if (rc == 0 && d->node.devices > 0)
        rc = post_first(d, &event);
    if (rc < 0 && err->code == 0)
        (void)err_set(err, rc, "out of memory");
    return rc;
}

static int open_state(struct daemon *d, struct err *err)
{
    const struct store_options options = {.dir = d->options.state,
                                          .holder = "elastaned " ELASTANE_VERSION,
                                          .notify = on_notify,
                                          .notify_arg = d};
    char path[PATH_MAX];
    int rc = store_open(&options, &d->store, err);

    if (rc < 0)
        return rc;
    if (!realpath(d->options.state, path))
        return err_set(err, E_IO, "%s: %s", d->options.state, strerror(errno));
    (void)snprintf(d->options.state, sizeof(d->options.state), "%s", path);
    return 0;
}

static int make_parts(struct daemon *d, struct err *err)
{
    const struct local_options options = {.loop = d->loop,
                                          .clock = &d->clock,
                                          .state_dir = d->options.state,
                                          .shim = d->options.shim,
                                          .node = d->options.node,
                                          .devices = d->device_kind,
                                          .pace = d->options.pace,
                                          .kick = kick,
                                          .log = log_line,
                                          .arg = d};
    struct engine_ports ports = {.store = store_port(d->store)};
    struct store_recovery recovery = {0};
    int rc = local_new(&options, &d->local, err);

    if (rc < 0)
        return rc;
    ports.backend = local_port(d->local);
    d->engine = engine_new(&ports);
    if (!d->engine)
        return err_set(err, E_NOMEM, "out of memory");
    rc = store_recover(d->store, d->engine, &recovery, err);
    if (rc < 0)
        return rc;
    if (recovery.skipped_snapshots > 0)
        say(LOG_WARNING, "%d snapshots could not be read: %s", recovery.skipped_snapshots,
            recovery.skipped.text);
    local_attach(d->local, d->engine);
    rc = local_check_folders(d->local, err);
    return rc < 0 ? rc : check_nodes(d, err);
}

static int begin(struct daemon *d, struct err *err)
{
    struct api_options options = {.loop = d->loop,
                                  .clock = &d->clock,
                                  .engine = d->engine,
                                  .store = d->store,
                                  .local = d->local,
                                  .state_dir = d->options.state,
                                  .version = ELASTANE_VERSION,
                                  .listen_fd = d->listen_fd,
                                  .kick = kick,
                                  .arg = d};
    int rc;

    d->clock = clock_begin(core_globals(engine_core(d->engine))->now_us);
    engine_begin(d->engine);
    rc = post_news(d, err);
    if (rc == 0)
        rc = api_new(&options, &d->api, err);
    if (rc < 0)
        return rc;
    local_begin(d->local);
    kick(d);
    return 0;
}

static int make_loop(struct daemon *d, struct err *err)
{
    static const int numbers[N_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    bool is_made;

    d->loop = loop_new();
    if (!d->loop)
        return err_set(err, E_NOMEM, "out of memory or descriptors");
    d->run = loop_timer_new(d->loop, run_engine, d);
    d->wake = loop_wake_new(d->loop, on_store_news, d);
    is_made = d->run && d->wake;
    for (int i = 0; i < N_SIGNALS; i++) {
        d->signals[i] = loop_signal_new(d->loop, numbers[i],
                                        numbers[i] == SIGHUP ? on_hangup : on_stop, d);
        is_made = is_made && d->signals[i];
    }
    return is_made ? 0 : err_set(err, E_NOMEM, "out of memory or descriptors");
}

static int start(struct daemon *d, struct err *err)
{
    int rc = make_loop(d, err);

    if (rc == 0)
        rc = find_devices(d, err);
    if (rc == 0)
        rc = open_state(d, err);
    if (rc == 0)
        rc = socket_listen(d->options.socket, 0600, &d->listen_fd, err);
    if (rc == 0)
        rc = make_parts(d, err);
    if (rc == 0)
        rc = begin(d, err);
    return rc;
}

static void release(struct daemon *d)
{
    struct err err = {0};

    engine_free(d->engine);
    api_free(d->api);
    local_free(d->local);
    if (store_close(d->store, &err) < 0)
        say_err(&err);
    socket_unlisten(d->options.socket, d->listen_fd);
    loop_timer_free(d->run);
    loop_wake_free(d->wake);
    for (int i = 0; i < N_SIGNALS; i++)
        loop_signal_free(d->signals[i]);
    loop_free(d->loop);
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
    if (start(&d, &err) < 0) {
        say_err(&err);
        d.has_failed = true;
    } else {
        (void)printf("ready %s\n", d.options.socket);
        (void)fflush(stdout);
        notify_send(getenv("NOTIFY_SOCKET"), "READY=1");
        loop_run(d.loop);
    }
    release(&d);
    return d.has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
