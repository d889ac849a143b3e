/* SPDX-License-Identifier: Apache-2.0 */
/* inbox.h - events that wait for their step, with everything they point to. */
#ifndef ENGINE_INBOX_H
#define ENGINE_INBOX_H

#include <stddef.h>

#include "base/err.h"
#include "core/event.h"
#include "engine/engine.h"

struct inbox_item {
    struct inbox_item *next;
    struct event event; /* its spec and model point into this item */
    struct job_spec spec;
    struct perf_model model;
    engine_answer_fn answer; /* may be NULL */
    void *arg;
};

struct inbox {
    struct inbox_item *first;
    struct inbox_item *last;
    size_t n;
};

/* Copies the event to the end of the queue. Returns 0 or E_NOMEM. */
int inbox_put(struct inbox *inbox, const struct event *event, engine_answer_fn answer,
              void *arg);
/* Unlinks the first item, which the caller frees; NULL when the queue is empty. */
struct inbox_item *inbox_take(struct inbox *inbox);

void inbox_item_free(struct inbox_item *item);

#endif
