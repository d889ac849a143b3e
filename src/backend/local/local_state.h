/* SPDX-License-Identifier: Apache-2.0 */
/* local_state.h - shared by the files of backend/local that carry duties out:
 *
 * local.c    the port; looking after posts; the patrol timer
 * devices.c  whether the GPUs are free when nobody holds them
 * talk.c     what shims say, and what they are told
 * starter.c  orders, and calling elastane-shim */
#ifndef BACKEND_LOCAL_LOCAL_STATE_H
#define BACKEND_LOCAL_LOCAL_STATE_H

#include "backend/local/calibrate.h"
#include "backend/local/devices.h"
#include "backend/local/local.h"
#include "backend/local/ordering.h"
#include "backend/local/posts.h"
#include "backend/local/shims.h"
#include "backend/local/vault.h"
#include "core/perf/learn.h"

struct local {
    struct loop *loop;
    const struct clock *clock;
    struct engine *engine;
    struct shims *shims;
    struct posts posts;
    struct loop_timer *patrol;
    struct devices *devices;
    struct ordering ordering;   /* its texts are owned */
    struct calibrate calibrate; /* of this machine */
    struct vault vault;
    char *shim;
    int jobs_fd;
    bool has_begun;
    void (*kick)(void *arg);
    void (*log)(void *arg, int priority, const char *text);
    void *arg;
};

enum { LOCAL_ERROR = 3, LOCAL_WARNING = 4, LOCAL_INFO = 6 };

/* local.c */
void local_log(const struct local *l, int priority, const char *fmt, ...)
    ATTR_PRINTF(3, 4);
/* Posts; returns engine_post()'s answer. */
int local_post(struct local *l, const struct event *event, engine_answer_fn answer,
               void *arg);
/* Puts the next look at `span_us` from now. */
void local_look_again(struct post *post, enum post_state state, usec_t span_us);
/* Reads the folder and does what follows from it. */
void local_look(struct post *post);
/* Posts the end of the incarnation, once its devices are as it found them or it is clear
 * that they stay as they are: the post is then POST_ENDED, POST_SETTLING until then, or
 * POST_ORDERED when the end could not be posted. */
void local_end(struct post *post, const struct order_exit *record);
/* Makes sure that the incarnation, which nobody has begun, never begins. */
void local_refuse_start(struct post *post, const char *why);
/* Whether the core still wants this incarnation. */
bool local_wants(const struct local *l, uint32_t job, uint32_t incarnation);

/* talk.c */
extern const struct shims_ops local_talk;
/* Tells the connected shim its duty. */
void talk_tell_duty(struct post *post);

/* starter.c */
/* Writes the order and calls the shim. */
void starter_start(struct post *post);
/* Calls the shim on a folder that has an order. */
void starter_call(struct post *post);

#endif
