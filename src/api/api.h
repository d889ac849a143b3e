/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - HTTP/JSON, /v1, on a Unix socket (docs/api.md).
 *
 * Answers to requests that change something are given when the engine answers: when the
 * change is durable. Everything happens in the loop's thread. */
#ifndef API_API_H
#define API_API_H

#include "backend/local/local.h"
#include "base/attr.h"
#include "base/err.h"
#include "engine/engine.h"
#include "loop/clock.h"
#include "loop/loop.h"
#include "store/store.h"

struct api;

struct api_options {
    struct loop *loop;
    const struct clock *clock;
    struct engine *engine;
    struct store *store;
    struct local *local;
    const char *state_dir;
    const char *version;
    int listen_fd; /* listening, nonblocking; lent until api_free() */
    /* Events were posted; engine_run() is wanted soon. */
    void (*kick)(void *arg);
    void *arg;
};

int api_new(const struct api_options *options, struct api **ret,
            struct err *err) ATTR_MUST_USE;
/* To be called after engine_free(), so that nothing is owed to a request any more. */
void api_free(struct api *api);

/* Something may have changed: looks after requests that wait. To be called after
 * engine_run() and store_poll(). */
void api_tick(struct api *api);
/* From here on new requests are answered with 503, and those that wait for the world are
 * too; those whose change is on its way to the disk get their answer. */
void api_stop(struct api *api);

#endif
