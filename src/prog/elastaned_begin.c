/* SPDX-License-Identifier: Apache-2.0 */
/* elastaned_begin.c - how the daemon begins, and what is taken apart at its end.
 *
 * Lock and open the state, listen, recover, perform the duties of the recovered state,
 * say what has changed meanwhile (the daemon's own start, settings, nodes), serve. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/local/folder.h"
#include "backend/local/vault.h"
#include "loop/rundir.h"
#include "loop/socket.h"
#include "prog/elastaned.h"

#define MIB ((int64_t)1 << 20)

static void on_notify(void *arg) /* the store's thread */
{
    struct daemon *d = arg;

    loop_wake_send(d->wake);
}

static int before_commit(void *arg, struct err *err) /* the store's thread */
{
    struct daemon *d = arg;

    return d->local ? vault_sync(local_vault(d->local), err) : 0;
}

static void forget_job(void *arg, uint32_t job) /* the store's thread */
{
    struct daemon *d = arg;

    if (d->local)
        folder_forget(local_jobs_fd(d->local), job);
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

/* Sockets do not work where machines share the files, or seem to. */
static int place_sockets(struct daemon *d, struct err *err)
{
    const char *network = store_network(d->store);
    int rc;

    if (!network)
        return 0;
    rc = rundir_open(d->options.state, d->run_dir, sizeof(d->run_dir), err);
    if (rc == 0)
        say(LOG_INFO,
            "the state %s is on %s: its journal is written without WAL, and sockets are "
            "in %s",
            d->options.state, network, d->run_dir);
    return rc;
}

static int open_state(struct daemon *d, struct err *err)
{
    const struct store_options options = {.dir = d->options.state,
                                          .holder = "elastaned " ELASTANE_VERSION,
                                          .notify = on_notify,
                                          .notify_arg = d,
                                          .before_commit = before_commit,
                                          .before_commit_arg = d,
                                          .keep_ended = d->options.keep_jobs,
                                          .keep_us = d->options.keep_us,
                                          .forget = forget_job,
                                          .forget_arg = d};
    char path[PATH_MAX];
    int rc = store_open(&options, &d->store, err);

    if (rc < 0)
        return rc;
    if (!realpath(d->options.state, path))
        return err_set(err, E_IO, "%s: %s", d->options.state, strerror(errno));
    (void)snprintf(d->options.state, sizeof(d->options.state), "%s", path);
    return place_sockets(d, err);
}

static int make_parts(struct daemon *d, struct err *err)
{
    const struct local_options options = {.loop = d->loop,
                                          .clock = &d->clock,
                                          .state_dir = d->options.state,
                                          .run_dir = d->run_dir[0] ? d->run_dir : NULL,
                                          .shim = d->options.shim,
                                          .node = d->options.node,
                                          .devices = d->device_kind,
                                          .gpus = daemon_gpus(d),
                                          .log_keep_bytes = d->options.log_keep_mib * MIB,
                                          .pace = d->options.pace,
                                          .kick = daemon_kick,
                                          .log = daemon_log,
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
                                  .kick = daemon_kick,
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
    daemon_kick(d);
    return 0;
}

static int make_loop(struct daemon *d, struct err *err)
{
    static const int numbers[N_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    bool is_made;

    d->loop = loop_new();
    if (!d->loop)
        return err_set(err, E_NOMEM, "out of memory or descriptors");
    d->run = loop_timer_new(d->loop, daemon_run_engine, d);
    d->wake = loop_wake_new(d->loop, daemon_on_store_news, d);
    is_made = d->run && d->wake;
    for (int i = 0; i < N_SIGNALS; i++) {
        d->signals[i] =
            loop_signal_new(d->loop, numbers[i],
                            numbers[i] == SIGHUP ? daemon_on_hangup : daemon_on_stop, d);
        is_made = is_made && d->signals[i];
    }
    return is_made ? 0 : err_set(err, E_NOMEM, "out of memory or descriptors");
}

int daemon_start(struct daemon *d, struct err *err)
{
    int rc = make_loop(d, err);

    if (rc == 0)
        rc = daemon_find_devices(d, err);
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

void daemon_release(struct daemon *d)
{
    struct err err = {0};

    engine_free(d->engine);
    api_free(d->api);
    if (store_close(d->store, &err) < 0) /* its thread may still need the backend */
        say_err(&err);
    local_free(d->local);
    nvml_close(d->nvml);
    socket_unlisten(d->options.socket, d->listen_fd);
    loop_timer_free(d->run);
    loop_wake_free(d->wake);
    for (int i = 0; i < N_SIGNALS; i++)
        loop_signal_free(d->signals[i]);
    loop_free(d->loop);
}
