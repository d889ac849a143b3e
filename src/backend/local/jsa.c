/* SPDX-License-Identifier: Apache-2.0 */
/* jsa.c - observations in, EVENT_MODEL out.
 *
 * The shim has applied the warm-up rule and sends medians that settled; learn_observe()
 * folds them into the model and says whether it moved. Invariants:
 *   1. The model is learned on from the newest one that was posted in this incarnation; a
 * new incarnation begins with what the core knows (its ceiling may have fallen).
 *   2. Only rank 0 is listened to: medians of several ranks would take turns in one
 * point.
 *   3. Sizes that nobody has measured are filled in from the machine's calibration, once
 * the job has said how many bytes it all-reduces. */
#include "backend/local/jsa.h"

#include "backend/local/local_state.h"

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
        ret->micro_batch = job->run.plan.micro_batch;
        ret->accumulation = job->run.plan.accumulation;
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

void jsa_take(struct post *post, const struct shim_msg *msg)
{
    struct local *l = post->local;
    const struct job *job = core_find_job(engine_core(l->engine), post->job);
    struct event event = {.kind = EVENT_MODEL, .job = post->job};
    struct learn_observation seen;
    struct perf_model model;

    if (!job || msg->rank > 0 || job->run.state != JOB_RUNNING)
        return;
    if (post->learned_incarnation != post->incarnation) {
        post->learned = job->model;
        post->learned_incarnation = post->incarnation;
    }
    if (!to_observation(job, msg, &seen))
        return;
    model = post->learned;
    if (!learn_observe(&model, &seen))
        return;
    (void)learn_calibrate(&model, &l->calibration, job->spec.sizes.max);
    event.model = &model;
    if (local_post(l, &event, NULL, NULL) < 0)
        return; /* the next summary says it again */
    post->learned = model;
}
