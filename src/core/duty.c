/* SPDX-License-Identifier: Apache-2.0 */
/* duty.c - what the outside owes a job; a pure function of its state.
 *
 * Invariant: the kind, incarnation and plan of a duty determine what a shim has to do, so
 * a duty that is performed twice does nothing the second time. */
#include "core/duty.h"

#include "base/assert.h"

static enum duty_kind resizing_duty(enum job_phase phase)
{
    switch (phase) {
    case JOB_PHASE_SAVE:
        return DUTY_SAVE;
    case JOB_PHASE_EXIT:
        return DUTY_STOP;
    case JOB_PHASE_START:
        return DUTY_START;
    case JOB_PHASE_NONE:
    case JOB_PHASE_MAX:
        break;
    }
    ASSERT(phase == JOB_PHASE_SAVE);
    return DUTY_NONE;
}

static enum duty_kind kind_of(const struct job_run *run)
{
    switch (run->state) {
    case JOB_STARTING:
        return DUTY_START;
    case JOB_RUNNING:
        return DUTY_GO_ON;
    case JOB_RESIZING:
        return resizing_duty(run->phase);
    case JOB_STOPPING:
        return DUTY_STOP;
    case JOB_QUEUED:
    case JOB_PAUSED:
    case JOB_DONE:
    case JOB_FAILED:
    case JOB_CANCELLED:
    case JOB_DROPPED:
    case JOB_STATE_MAX:
        break;
    }
    return DUTY_NONE;
}

struct duty job_duty(const struct job *job)
{
    const struct job_run *run = &job->run;

    return (struct duty){
        .kind = kind_of(run),
        .job = run->id,
        .incarnation = run->incarnation,
        .plan = run->state == JOB_RESIZING ? run->next : run->plan,
        .grace_us = job->spec.grace_us,
    };
}

bool duty_is_new(const struct job *before, const struct job *after)
{
    struct duty b = job_duty(before);
    struct duty a = job_duty(after);

    if (a.kind == DUTY_NONE)
        return false;
    return a.kind != b.kind || a.incarnation != b.incarnation ||
           a.plan.generation != b.plan.generation;
}

int32_t duty_devices(const struct cluster *cluster, uint32_t job, uint32_t flags,
                     int32_t *ret_devices, int32_t cap)
{
    int32_t n = 0;
    int32_t first, end;

    cluster_span(cluster, job, &first, &end);
    for (int32_t i = first; i < end; i++) {
        if (cluster->devices[i].job != job || !(cluster->devices[i].flags & flags))
            continue;
        if (n < cap)
            ret_devices[n] = i;
        n++;
    }
    return n;
}
