/* SPDX-License-Identifier: Apache-2.0 */
/* jsa.c - observations in, EVENT_MODEL out.
 *
 * The shim has applied the warm-up rule and sends medians that settled; learn_observe()
 * folds them into the model and says whether it moved. Invariants:
 *   1. The model is learned on within an incarnation; a new one begins with what the core
 *      knows (its ceiling may have fallen).
 *   2. Only rank 0 is listened to: medians of several ranks would take turns in one
 * point.
 *   3. The first model of a job is told when it has two micro-batches to tell of, or
 * after PATIENCE_US: with a single point every batch looks alike, and the job would be
 * moved on a guess while it is still trying the others. One that is measured passively
 * tries no others, so there is nothing to wait for.
 *   4. Whole steps are a last resort, for jobs that report nothing finer (learn.h). What
 * a beat says of them, before it has settled, is taken after that time and only while
 * nothing else is known.
 *   5. Sizes that nobody has measured are filled in from the machine's calibration, once
 * the job has said how many bytes it all-reduces.
 *   6. Of a job whose profile is off nothing is taken. */
#include "backend/local/jsa.h"

#include "backend/local/local_state.h"

#define PATIENCE_US (20 * USEC_PER_SEC)

static bool to_observation(const struct job *job, const struct shim_msg *msg,
                           struct learn_observation *ret)
{
    *ret = (struct learn_observation){
        .size = msg->size > 0 ? msg->size : job->run.plan.size,
        .count = msg->count,
        .time_ns = msg->time_ns,
        .comm_bytes = msg->comm_bytes,
        .is_noisy = msg->is_noisy != 0,
    };
    if (msg->kind == SHIM_BEAT) {
        ret->kind = LEARN_STEP;
        ret->micro_batch = job->run.plan.micro_batch;
        ret->accumulation = job->run.plan.accumulation;
        ret->size = job->run.plan.size;
        return msg->time_ns > 0;
    }
    switch (msg->observed) {
    case SHIM_OBSERVED_STEP:
        ret->kind = LEARN_STEP;
        ret->micro_batch = msg->micro_batch;
        ret->accumulation = msg->accumulation;
        return true;
    case SHIM_OBSERVED_MICRO:
        ret->kind = LEARN_MICRO;
        ret->micro_batch = msg->micro_batch;
        return true;
    case SHIM_OBSERVED_COMM:
        ret->kind = LEARN_COMM;
        return true;
    case SHIM_OBSERVED_MAX:
        break;
    }
    return false;
}

/* Folds one observation into what the post has learned. */
static void learn(struct post *post, const struct job *job, const struct shim_msg *msg)
{
    struct learn_observation seen;

    if (!to_observation(job, msg, &seen))
        return;
    if (learn_observe(&post->learned, &seen))
        post->has_learned = true;
}

static bool is_worth_telling(const struct post *post, const struct job *job,
                             usec_t ran_us)
{
    bool has_one = job->spec.batch_min == job->spec.batch_max ||
                   job->spec.profile == JOB_PROFILE_PASSIVE;

    return post->has_learned &&
           (has_one || post->learned.n_proc >= 2 || ran_us >= PATIENCE_US);
}

void jsa_take(struct post *post, const struct shim_msg *msg)
{
    struct local *l = post->local;
    const struct job *job = core_find_job(engine_core(l->engine), post->job);
    struct event event = {.kind = EVENT_MODEL, .job = post->job, .model = &post->learned};
    usec_t ran_us;

    if (!job || msg->rank > 0 || job->run.state != JOB_RUNNING)
        return;
    if (job->spec.profile == JOB_PROFILE_OFF) {
        post->learned_incarnation = 0; /* if it is turned on: with what the core knows */
        return;
    }
    if (post->learned_incarnation != post->incarnation) {
        post->learned = job->model;
        post->learned_incarnation = post->incarnation;
        post->has_learned = false;
    }
    ran_us = clock_now(l->clock) - job->run.since_us;
    if (msg->kind != SHIM_BEAT ||
        (ran_us >= PATIENCE_US && post->learned.source == MODEL_PRIOR))
        learn(post, job, msg);
    else if (msg->comm_bytes > 0)
        post->learned.comm_bytes = msg->comm_bytes;
    if (msg->kind != SHIM_BEAT || !is_worth_telling(post, job, ran_us))
        return;
    (void)learn_calibrate(&post->learned, &l->calibrate.table, job->spec.sizes.max);
    if (local_post(l, &event, NULL, NULL) == 0)
        post->has_learned = false; /* else the next beat tries again */
}
