/* SPDX-License-Identifier: Apache-2.0 */
/* elastaned.h - the daemon's parts; shared by elastaned.c (running) and elastaned_begin.c
 * (beginning, ending). */
#ifndef PROG_ELASTANED_H
#define PROG_ELASTANED_H

#include <stdbool.h>

#include "api/api.h"
#include "backend/local/local.h"
#include "backend/local/nvml.h"
#include "engine/engine.h"
#include "loop/clock.h"
#include "loop/loop.h"
#include "prog/elastaned_options.h"
#include "store/store.h"

#define N_SIGNALS 3

enum { LOG_ERROR = 3, LOG_WARNING = 4, LOG_INFO = 6 };

struct daemon {
    struct options options;
    struct clock clock;
    struct loop *loop;
    char run_dir[PATH_MAX]; /* where sockets are, when not in the state; else "" */
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
    struct nvml *nvml; /* NULL: the devices are CPU slots, or there are none */
    struct nvml_device gpus[NODE_DEVICES_MAX];
    bool is_stopping;
    bool has_failed;
};

/* elastaned.c: what makes it run. Each takes a struct daemon. */
void daemon_run_engine(void *daemon); /* engine_run() is due */
void daemon_kick(void *daemon);       /* events were posted */
void daemon_on_store_news(void *daemon);
void daemon_on_stop(void *daemon);
void daemon_on_hangup(void *daemon);
void daemon_log(void *daemon, int priority, const char *text);
void say(int priority, const char *fmt, ...) ATTR_PRINTF(2, 3);
void say_err(const struct err *err);

/* elastaned_devices.c. */
int daemon_find_devices(struct daemon *d, struct err *err) ATTR_MUST_USE;
struct local_gpus daemon_gpus(const struct daemon *d);

/* elastaned_begin.c. */
int daemon_start(struct daemon *d, struct err *err) ATTR_MUST_USE;
/* After daemon_start(), whether or not it succeeded. */
void daemon_release(struct daemon *d);

#endif
