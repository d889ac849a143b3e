/* SPDX-License-Identifier: Apache-2.0 */
/* posts.h - what the backend knows of each job's newest incarnation: a table by job. */
#ifndef BACKEND_LOCAL_POSTS_H
#define BACKEND_LOCAL_POSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/local/local.h"
#include "backend/local/shims.h"
#include "core/duty.h"
#include "core/perf/model.h"

enum post_state {
    POST_UNSEEN,    /* its folder must be looked at */
    POST_ORDERED,   /* to be started, or looked at, again at try_us */
    POST_SPAWNING,  /* elastane-shim was called and has not answered */
    POST_EXPECTED,  /* a shim has it; its HELLO is awaited; looked at again at try_us */
    POST_CONNECTED, /* link is set */
    POST_SETTLING,  /* it has ended; its devices are looked at again at try_us */
    POST_ENDED,     /* its end was posted */
    POST_STATE_MAX
};

struct post {
    struct local *local;
    uint32_t job;
    uint32_t incarnation;
    enum post_state state;
    struct duty duty; /* the newest */
    struct shims_link *link;
    struct loop_child *child;
    usec_t try_us;            /* ORDERED, EXPECTED, SETTLING: next look */
    usec_t heard_us;          /* CONNECTED: last message */
    int32_t tries;            /* failed attempts to start */
    bool is_recovered;        /* an earlier daemon had it */
    bool was_missed;          /* its folder was not there at the last look */
    usec_t settle_us;         /* until when its devices may settle; 0: it has not ended */
    struct order_exit ending; /* SETTLING: how it ended */
    usec_t perf_us;           /* last EVENT_PERF; 0: none */
    int64_t perf_ns;          /* its median step */
    bool has_told_warm_up;    /* one of them did */
    struct local_live live;
    struct perf_model learned;    /* what was measured so far; jsa.c */
    uint32_t learned_incarnation; /* in this incarnation; 0: nothing yet */
    bool has_learned;             /* since the last EVENT_MODEL */
};

struct posts {
    struct post **items; /* by job, ascending */
    size_t n;
    size_t cap;
};

struct post *posts_find(const struct posts *posts, uint32_t job);
/* The post of the job, made if needed; NULL when out of memory. */
struct post *posts_get(struct posts *posts, struct local *local, uint32_t job);
void posts_remove(struct posts *posts, uint32_t job);
void posts_release(struct posts *posts);

#endif
