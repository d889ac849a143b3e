/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - the invariants of the whole state, walked after every step in tests and in
 * the simulator, and by `elastane replay`:
 *   1. held + free + withheld + gone = total, a device of a lost node is held by nobody,
 *      and a device has a mark exactly when it is not clean.
 *   2. Every held device belongs to a live job in a state that holds devices; HOLD_NEXT
 * only while the job is starting or resizing.
 *   3. A running job holds exactly plan.size devices (fewer only when broken), an allowed
 *      number unless its owner has just changed what is allowed; a resizing one holds
 *      next.size devices with HOLD_NEXT unless some were lost.
 *   4. Waiting and paused jobs hold nothing and have no plan.
 *   5. Plans are exact: ceil(B/k) samples go through in a passes of m (split_check).
 *   6. plan.generation and next.generation do not exceed generation; next is the newer.
 *   7. Places in the queue are unique, ids are below next_job. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/core.h"
#include "core/perf/split.h"

static int broken(struct err *err, const struct job *job, const char *what)
{
    if (!job)
        return err_set(err, E_CORRUPT, "%s", what);
    return err_set(err, E_CORRUPT, "job %u (%s): %s", job->spec.id,
                   job_state_name(job->run.state), what);
}

static bool is_free(const struct device *device)
{
    return device->job == 0 && device->state == DEVICE_CLEAN;
}

/* The cluster keeps its counts in step; here they are counted anew. */
static int check_counts(const struct cluster *c, struct err *err)
{
    struct cluster_count kept = cluster_count(c);
    struct cluster_count seen = {.total = c->n_devices};

    for (int32_t i = 0; i < c->n_devices; i++) {
        bool is_gone = c->nodes[c->devices[i].node].state == NODE_LOST;

        seen.gone += is_gone;
        seen.free += !is_gone && is_free(&c->devices[i]);
        seen.held += !is_gone && c->devices[i].job != 0;
        seen.withheld +=
            !is_gone && c->devices[i].job == 0 && c->devices[i].state != DEVICE_CLEAN;
    }
    if (seen.held + seen.free + seen.withheld + seen.gone != seen.total ||
        kept.held != seen.held || kept.free != seen.free ||
        kept.withheld != seen.withheld || kept.gone != seen.gone ||
        kept.total != seen.total)
        return err_set(err, E_CORRUPT,
                       "%d held + %d free + %d withheld + %d gone of %d were counted, "
                       "%d + %d + %d + %d of %d are in the books",
                       seen.held, seen.free, seen.withheld, seen.gone, seen.total,
                       kept.held, kept.free, kept.withheld, kept.gone, kept.total);
    return 0;
}

/* The marks are those of the devices, and the types add up without them. */
static int check_marks(const struct cluster *c, struct err *err)
{
    int32_t n_marked = 0;
    int32_t withheld = 0;
    int32_t up = 0;

    for (int32_t i = 0; i < c->n_devices; i++) {
        const struct device_mark *mark = cluster_find_mark(c, i);

        n_marked += mark != NULL;
        if ((mark ? mark->state : DEVICE_CLEAN) != c->devices[i].state)
            return err_set(err, E_CORRUPT, "device %d and its mark disagree", i);
    }
    for (int32_t i = 0; i < c->n_types; i++) {
        withheld += c->types[i].withheld;
        up += c->types[i].up;
    }
    if (n_marked != c->marks.n || withheld != c->count.withheld ||
        up != c->count.held + c->count.free)
        return err_set(err, E_CORRUPT,
                       "%d devices are marked and %d withheld, not %d, %d", n_marked,
                       c->count.withheld, c->marks.n, withheld);
    return 0;
}

static int check_devices(const struct core *core, struct err *err)
{
    const struct cluster *c = core_cluster(core);

    if (check_counts(c, err) < 0 || check_marks(c, err) < 0)
        return E_CORRUPT;
    for (int32_t i = 0; i < c->n_devices; i++) {
        const struct device *d = &c->devices[i];
        const struct job *job = d->job ? core_find_job(core, d->job) : NULL;

        if ((d->job == 0) != (d->flags == 0))
            return broken(err, job,
                          "a device has a holder without flags, or flags without");
        if (d->job == 0)
            continue;
        if (c->nodes[d->node].state == NODE_LOST)
            return broken(err, job, "holds a device of a lost node");
        if (!job || !job_state_holds_devices(job->run.state))
            return broken(err, job, "holds a device in a state that must not");
    }
    return 0;
}

static int check_plan(const struct job *job, const struct job_plan *plan, struct err *err)
{
    if (plan->size < 1)
        return broken(err, job, "has no plan");
    if (plan->generation == 0 || plan->generation > job->run.generation)
        return broken(err, job, "has a plan of a generation that was never given out");
    if (plan->global_batch > 0 &&
        split_check(plan->size, plan->global_batch, plan->micro_batch, plan->accumulation,
                    NULL) < 0)
        return broken(err, job, "has a plan that does not split exactly");
    return 0;
}

static int check_holding(const struct core *core, const struct job *job, struct err *err)
{
    const struct job_run *run = &job->run;
    int32_t now = cluster_held(core_cluster(core), run->id, HOLD_NOW);
    int32_t next = cluster_held(core_cluster(core), run->id, HOLD_NEXT);
    bool is_moving = run->state == JOB_STARTING || run->state == JOB_RESIZING;

    if (run->state != JOB_STOPPING && check_plan(job, &run->plan, err) < 0)
        return E_CORRUPT;
    if (run->state == JOB_RESIZING && check_plan(job, &run->next, err) < 0)
        return E_CORRUPT;
    if (run->state == JOB_RESIZING && run->next.generation <= run->plan.generation)
        return broken(err, job, "resizes to an older generation");
    if (run->state == JOB_RUNNING && now != run->plan.size && !run->is_broken)
        return broken(err, job, "does not hold the devices of its plan");
    if (run->state == JOB_RUNNING && now > run->plan.size)
        return broken(err, job, "holds more devices than its plan has");
    if (run->state == JOB_STARTING && next != run->plan.size)
        return broken(err, job, "starts without the devices of its plan");
    if (run->state == JOB_RESIZING && next > run->next.size)
        return broken(err, job, "holds more devices than its next plan has");
    if (!is_moving && run->state != JOB_STOPPING && next > 0)
        return broken(err, job, "has devices for a move that it is not in");
    if (run->incarnation == 0)
        return broken(err, job, "runs without an incarnation");
    return 0;
}

static int check_job(const struct core *core, const struct job *job, struct err *err)
{
    const struct job_run *run = &job->run;

    if (run->id != job->spec.id || run->id >= core_globals(core)->next_job)
        return broken(err, job, "has an id that was never given out");
    if (job_state_is_final(run->state))
        return broken(err, job, "is in a final state and still here");
    if ((run->phase != JOB_PHASE_NONE) != (run->state == JOB_RESIZING))
        return broken(err, job, "has a phase outside of a resize, or none inside");
    if (run->since_us > core_globals(core)->now_us)
        return broken(err, job, "changed its state in the future");
    if (job_state_holds_devices(run->state))
        return check_holding(core, job, err);
    if (cluster_held(core_cluster(core), run->id, HOLD_NOW | HOLD_NEXT) > 0)
        return broken(err, job, "holds devices in a state that must not");
    if (run->plan.size != 0 || run->is_unconfirmed)
        return broken(err, job, "waits with a plan in force");
    return 0;
}

static int order_cmp(const void *pa, const void *pb)
{
    const int64_t *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

static int check_orders(const struct core *core, struct err *err)
{
    size_t n = core_n_jobs(core);
    int64_t *orders = mem_new(n, sizeof *orders);
    int rc = 0;

    if (!orders)
        return E_NOMEM;
    for (size_t i = 0; i < n; i++)
        orders[i] = core_job_at(core, i)->run.order;
    qsort(orders, n, sizeof *orders, order_cmp);
    for (size_t i = 1; i < n && rc == 0; i++)
        if (orders[i] == orders[i - 1])
            rc = broken(err, NULL, "two jobs have one place in the queue");
    mem_free(orders);
    return rc;
}

int core_check(const struct core *core, struct err *err)
{
    int rc = check_devices(core, err);

    for (size_t i = 0; i < core_n_jobs(core) && rc == 0; i++)
        rc = check_job(core, core_job_at(core, i), err);
    return rc < 0 ? rc : check_orders(core, err);
}
