/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - the state table of a job, and the rules of its spec.
 *
 * The table is DESIGN section 3, as data. Invariants:
 *   1. Only job_move() writes run->state, run->goal and run->since_us.
 *   2. run->phase is not NONE exactly while the state is RESIZING.
 *   3. A final state has no successor. */
#include "core/job.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define FINAL_STATES (BIT(JOB_DONE) | BIT(JOB_FAILED) | BIT(JOB_CANCELLED))

static const struct {
    const char *name;
    unsigned next; /* one bit per legal successor */
    bool holds_devices;
} states[JOB_STATE_MAX] = {
    [JOB_QUEUED] = {"queued",
                    BIT(JOB_STARTING) | BIT(JOB_PAUSED) | BIT(JOB_CANCELLED) |
                        BIT(JOB_DROPPED),
                    false},
    [JOB_STARTING] = {"starting", BIT(JOB_RUNNING) | BIT(JOB_STOPPING), true},
    [JOB_RUNNING] = {"running", BIT(JOB_RESIZING) | BIT(JOB_STOPPING), true},
    [JOB_RESIZING] = {"resizing", BIT(JOB_RUNNING) | BIT(JOB_STOPPING), true},
    [JOB_STOPPING] = {"stopping", BIT(JOB_QUEUED) | BIT(JOB_PAUSED) | FINAL_STATES, true},
    [JOB_PAUSED] = {"paused", BIT(JOB_QUEUED) | BIT(JOB_CANCELLED), false},
    [JOB_DONE] = {"done", 0, false},
    [JOB_FAILED] = {"failed", 0, false},
    [JOB_CANCELLED] = {"cancelled", 0, false},
    [JOB_DROPPED] = {"dropped", 0, false},
};

const char *job_state_name(enum job_state state)
{
    ASSERT(state < JOB_STATE_MAX);
    return states[state].name;
}

bool job_state_is_final(enum job_state state)
{
    ASSERT(state < JOB_STATE_MAX);
    return states[state].next == 0;
}

bool job_state_holds_devices(enum job_state state)
{
    ASSERT(state < JOB_STATE_MAX);
    return states[state].holds_devices;
}

bool job_state_may_follow(enum job_state from, enum job_state to)
{
    ASSERT(from < JOB_STATE_MAX);
    ASSERT(to < JOB_STATE_MAX);
    return (states[from].next & BIT(to)) != 0;
}

void job_move(struct job_run *run, enum job_state next, enum job_state goal,
              usec_t now_us, const char *fmt, ...)
{
    va_list args;

    ASSERT(job_state_may_follow(run->state, next));
    ASSERT(next != JOB_STOPPING || job_state_may_follow(JOB_STOPPING, goal));
    ASSERT(run->state != JOB_STOPPING || run->goal == next);
    ASSERT(now_us >= run->since_us);
    if (run->state == JOB_RUNNING || run->state == JOB_RESIZING)
        run->active_us += now_us - run->since_us;
    if (states[run->state].holds_devices)
        run->device_us +=
            (now_us - run->since_us) * i32_max(run->plan.size, run->next.size);
    run->state = next;
    run->goal = next == JOB_STOPPING ? goal : next;
    run->since_us = now_us;
    if (next != JOB_RESIZING) {
        run->phase = JOB_PHASE_NONE;
        run->next = (struct job_plan){0};
    }
    if (next == JOB_RUNNING && run->start_us == 0)
        run->start_us = now_us;
    if (job_state_is_final(next))
        run->end_us = now_us;
    if (!states[next].holds_devices)
        run->is_unconfirmed = false;
    if (next != JOB_RUNNING)
        run->is_broken = false;
    va_start(args, fmt);
    (void)vsnprintf(run->reason, sizeof run->reason, fmt, args);
    va_end(args);
}

void job_set_goal(struct job_run *run, enum job_state goal, const char *fmt, ...)
{
    va_list args;

    ASSERT(run->state == JOB_STOPPING);
    ASSERT(job_state_may_follow(JOB_STOPPING, goal));
    run->goal = goal;
    va_start(args, fmt);
    (void)vsnprintf(run->reason, sizeof run->reason, fmt, args);
    va_end(args);
}

void job_set_phase(struct job_run *run, enum job_phase phase)
{
    ASSERT(run->state == JOB_RESIZING);
    ASSERT(phase > run->phase);
    ASSERT(phase < JOB_PHASE_MAX);
    run->phase = phase;
}

int64_t job_samples_total(const struct job_spec *spec, const struct job_run *run)
{
    return spec->samples_total > 0 ? spec->samples_total : run->samples_total;
}

bool size_set_has(const struct size_set *set, int32_t size)
{
    return size > 0 && size_set_next(set, size) == size;
}

int32_t size_set_next(const struct size_set *set, int32_t at_least)
{
    int64_t over;

    for (int32_t i = 0; i < set->n_listed; i++)
        if (set->listed[i] >= at_least)
            return set->listed[i];
    if (set->n_listed > 0)
        return 0;
    if (at_least <= set->min)
        return set->min;
    over = i64_div_up((int64_t)at_least - set->min, set->step);
    over = set->min + over * set->step;
    return over <= set->max ? (int32_t)over : 0;
}

int32_t size_set_last(const struct size_set *set, int32_t at_most)
{
    for (int32_t i = set->n_listed; i > 0; i--)
        if (set->listed[i - 1] <= at_most)
            return set->listed[i - 1];
    if (set->n_listed > 0 || at_most < set->min)
        return 0;
    at_most = i32_min(at_most, set->max);
    return set->min + (at_most - set->min) / set->step * set->step;
}

int job_spec_copy(struct job_spec *to, const struct job_spec *from)
{
    char *launch = NULL;

    if (from->launch) {
        launch = mem_text(from->launch);
        if (!launch)
            return E_NOMEM;
    }
    *to = *from;
    to->launch = launch;
    return 0;
}

void job_spec_release(struct job_spec *spec)
{
    mem_free(spec->launch);
    spec->launch = NULL;
}
