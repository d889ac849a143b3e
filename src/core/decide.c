/* SPDX-License-Identifier: Apache-2.0 */
/* decide.c - core_decide(): one event in, changes out.
 *
 * Inputs only record facts and say that a plan is wanted; EVENT_PLAN alone runs the
 * policy (DESIGN 2), so that a thousand submits cost one plan. */
#include "core/decide.h"

#include <stdio.h>

#include "base/assert.h"

static int dispatch(struct draft *d, const struct event *event, struct err *err)
{
    switch (event->kind) {
    case EVENT_CONFIG:
        return decide_config(d, event, err);
    case EVENT_NODE_UP:
        return decide_node_up(d, event, err);
    case EVENT_SUBMIT:
        return decide_submit(d, event, err);
    case EVENT_UPDATE:
        return decide_update(d, event, err);
    case EVENT_CANCEL:
        return decide_cancel(d, event, err);
    case EVENT_PAUSE:
        return decide_pause(d, event, err);
    case EVENT_RESUME:
        return decide_resume(d, event, err);
    case EVENT_PLAN:
        return decide_plan(d);
    case EVENT_DEVICE:
        decide_device(d, event);
        return 0;
    case EVENT_NODE_LOST:
        decide_node_lost(d, event);
        return 0;
    case EVENT_STARTED:
        decide_started(d, event);
        return 0;
    case EVENT_SAVED:
        decide_saved(d, event);
        return 0;
    case EVENT_SAVE_FAILED:
        decide_save_failed(d, event);
        return 0;
    case EVENT_EXIT:
        decide_exit(d, event);
        return 0;
    case EVENT_PERF:
        decide_perf(d, event);
        return 0;
    case EVENT_MODEL:
        decide_model(d, event);
        return 0;
    case EVENT_DAEMON_START:
        decide_daemon_start(d);
        return 0;
    case EVENT_ADOPTED:
        decide_adopted(d, event);
        return 0;
    case EVENT_WAKE:
        decide_wake(d);
        return 0;
    case EVENT_KIND_MAX:
        break;
    }
    return err_set(err, E_VERSION, "event kind %d is unknown", (int)event->kind);
}

int core_decide(const struct core *core, const struct event *event, struct changes *out,
                struct err *err)
{
    struct draft d;
    int rc;

    ASSERT(out->n == 0);
    ASSERT(event->time_us >= core_globals(core)->now_us);
    draft_begin(&d, core, event->time_us, out);
    rc = dispatch(&d, event, err);
    if (rc < 0) {
        changes_clear(out);
        return rc;
    }
    rc = draft_end(&d);
    return rc < 0 ? err_set(err, rc, "out of memory") : 0;
}

void decide_ended(struct draft *d, struct job_run *run)
{
    enum job_state goal = run->goal;
    char why[REASON_MAX_BYTES];

    ASSERT(run->state == JOB_STOPPING);
    (void)snprintf(why, sizeof why, "%s", run->reason);
    job_move(run, goal, goal, d->now_us, "%s", why);
    run->plan.size = 0;
    draft_update_holds(d, run->id, -1, 0, 0);
    draft_put_run(d, run);
    if (job_state_is_final(goal))
        d->globals.departures++;
    d->globals.needs_plan = true;
}
