/* SPDX-License-Identifier: Apache-2.0 */
/* talk.c - what shims say becomes events; duties become what shims are told.
 *
 * Beats are telemetry: kept for whoever asks, and journalled only as EVENT_PERF, when the
 * median step has moved by more than 5 % or 60 s have passed (DESIGN 2). Of the other
 * messages each makes at most one event, and every one may come again after a
 * reconnection: the core takes a report once. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "backend/local/jsa.h"
#include "backend/local/local_state.h"

#define PERF_SPAN_US (60 * USEC_PER_SEC)
#define PERF_PART    20 /* 1/20: 5 % */
#define LOOK_SOON_US (200 * USEC_PER_MSEC)

void talk_tell_duty(struct post *post)
{
    struct shim_msg msg = {.grace_us = post->duty.grace_us};

    switch (post->duty.kind) {
    case DUTY_SAVE:
        msg.kind = SHIM_SAVE;
        break;
    case DUTY_STOP:
        msg.kind = SHIM_STOP;
        break;
    case DUTY_GO_ON:
        msg.kind = SHIM_GO_ON;
        break;
    case DUTY_START: /* that it lives is the answer */
    case DUTY_NONE:
    case DUTY_KIND_MAX:
        return;
    }
    shims_send(post->link, &msg);
}

static void refuse(struct shims_link *link, const char *why)
{
    struct shim_msg msg = {.kind = SHIM_REFUSE};

    (void)snprintf(msg.text, sizeof(msg.text), "%s", why);
    shims_send(link, &msg);
}

static void post_event(struct post *post, enum event_kind kind,
                       const struct shim_msg *msg)
{
    struct event event = {.kind = kind,
                          .job = post->job,
                          .incarnation = post->incarnation,
                          .samples = msg->samples_done};

    text_fit(event.text, sizeof(event.text), msg->text);
    if (local_post(post->local, &event, NULL, NULL) < 0)
        local_log(post->local, LOCAL_ERROR,
                  "job %u: a report was lost, the queue is full", post->job);
}

static void end_from(struct post *post, const struct shim_msg *msg)
{
    struct order_exit record = {.job = post->job,
                                .incarnation = post->incarnation,
                                .generation = msg->generation,
                                .cause = msg->cause,
                                .exit_code = msg->exit_code,
                                .rank = msg->rank,
                                .micro_batch = msg->micro_batch,
                                .samples_done = msg->samples_done};
    enum post_state state = post->state;

    if (state == POST_SETTLING)
        return; /* it is known */
    text_fit(record.text, sizeof(record.text), msg->text);
    local_end(post, &record);
    if (post->state == POST_ORDERED)
        post->state = state; /* the shim insists, so nothing is lost */
}

/* The time of a step, or of a sample where there are no steps; 0: no word. */
static int64_t pace_ns(const struct local_live *live)
{
    if (live->step_ns > 0)
        return live->step_ns;
    return live->rate_milli > 0 ? (int64_t)(1e12 / (double)live->rate_milli) : 0;
}

static bool is_news(const struct post *post, const struct job *job, usec_t now_us)
{
    int64_t pace = pace_ns(&post->live);
    int64_t moved = pace - post->perf_ns;

    if (post->live.warm_up_us > 0 && !post->has_told_warm_up)
        return true;
    if (post->live.samples_total > 0 &&
        post->live.samples_total != job->run.samples_total)
        return true;
    return pace > 0 && (post->perf_us == 0 || now_us - post->perf_us >= PERF_SPAN_US ||
                        (moved < 0 ? -moved : moved) > post->perf_ns / PERF_PART);
}

/* What is worth a row: the speed has moved, or length or warm-up have become known. */
static void note_perf(struct post *post, const struct job *job)
{
    struct local_live *live = &post->live;
    usec_t now_us = clock_now(post->local->clock);
    struct event event = {.kind = EVENT_PERF,
                          .job = post->job,
                          .incarnation = post->incarnation,
                          .samples = live->samples_done,
                          .samples_total = live->samples_total,
                          .rate_milli = live->rate_milli,
                          .warm_up_us = live->warm_up_us};

    if (!is_news(post, job, now_us))
        return;
    if (local_post(post->local, &event, NULL, NULL) < 0)
        return; /* the next beat tries again */
    post->perf_us = now_us;
    post->has_told_warm_up = live->warm_up_us > 0;
    post->perf_ns = pace_ns(live);
}

static void take_beat(struct post *post, const struct shim_msg *msg)
{
    struct local_live *live = &post->live;
    const struct job *job = core_find_job(engine_core(post->local->engine), post->job);
    int64_t batch = job ? job->run.plan.global_batch : 0;

    live->phase = msg->phase;
    live->ranks_up = msg->ranks_up;
    live->step = msg->step;
    live->samples_done = msg->samples_done;
    live->samples_total = msg->samples_total;
    live->warm_up_us = msg->warm_up_us;
    memcpy(live->note, msg->text, sizeof(live->note));
    if (msg->time_ns > 0) {
        live->step_ns = msg->time_ns;
        live->rate_milli = (int64_t)((double)batch * 1e12 / (double)msg->time_ns);
    }
    if (msg->rate_milli > 0)
        live->rate_milli = msg->rate_milli;
    if (!job || job->run.state != JOB_RUNNING)
        return;
    note_perf(post, job);
    jsa_take(post, msg);
}

static void take_hello(struct local *l, struct shims_link *link,
                       const struct shim_msg *msg)
{
    struct post *post = posts_find(&l->posts, msg->job);
    const struct job *job = core_find_job(engine_core(l->engine), msg->job);
    struct shim_msg adopt = {.kind = SHIM_ADOPT, .version = FRAME_VERSION};
    uid_t uid = shims_peer(link)->uid;

    if (!l->has_begun || (job && uid != job->spec.uid && uid != geteuid() && uid != 0)) {
        shims_close(link);
        return;
    }
    if (!local_wants(l, msg->job, msg->incarnation)) {
        refuse(link, "its job has ended or runs elsewhere");
        return;
    }
    if (!post || post->incarnation != msg->incarnation) {
        shims_close(link); /* its duty has not come through yet; it dials again */
        return;
    }
    if (post->link)
        shims_close(post->link);
    post->link = link;
    post->heard_us = clock_now(l->clock);
    post->live.phase = msg->phase;
    post->live.ranks_up = msg->ranks_up;
    post->live.samples_done = msg->samples_done;
    shims_send(link, &adopt);
    local_look_again(post, POST_CONNECTED, 0);
    if (msg->phase == SHIM_ENDED)
        return; /* EXIT follows */
    if (job->run.is_unconfirmed)
        post_event(post, EVENT_ADOPTED, msg);
    talk_tell_duty(post);
}

static void on_message(void *arg, struct shims_link *link, const struct shim_msg *msg)
{
    struct local *l = arg;
    struct post *post = posts_find(&l->posts, shims_job(link));

    if (msg->kind == SHIM_HELLO) {
        take_hello(l, link, msg);
        return;
    }
    if (!post || post->link != link) { /* refused before, or of an older incarnation */
        if (!local_wants(l, shims_job(link), shims_incarnation(link)))
            refuse(link, "its job has ended or runs elsewhere");
        return;
    }
    post->heard_us = clock_now(l->clock);
    switch ((int)msg->kind) { /* an int: only the shim's kinds are expected here */
    case SHIM_STARTED:
        post_event(post, EVENT_STARTED, msg);
        break;
    case SHIM_SAVED:
        post_event(post, EVENT_SAVED, msg);
        break;
    case SHIM_SAVE_FAILED:
        post_event(post, EVENT_SAVE_FAILED, msg);
        break;
    case SHIM_EXIT:
        end_from(post, msg);
        break;
    case SHIM_BEAT:
        take_beat(post, msg);
        break;
    case SHIM_OBSERVE:
        jsa_take(post, msg);
        break;
    case SHIM_OOM:
        local_log(l, LOCAL_WARNING, "job %u: %d samples did not fit in memory of rank %d",
                  post->job, msg->micro_batch, msg->rank);
        break;
    default:
        break;
    }
}

static void on_closed(void *arg, struct shims_link *link)
{
    struct local *l = arg;
    struct post *post = posts_find(&l->posts, shims_job(link));

    if (!post || post->link != link)
        return;
    post->link = NULL;
    if (post->state == POST_CONNECTED)
        local_look_again(post, POST_EXPECTED, LOOK_SOON_US);
}

const struct shims_ops local_talk = {on_message, on_closed};
