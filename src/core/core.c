/* SPDX-License-Identifier: Apache-2.0 */
/* core.c - the state, and folding changes into it.
 *
 * The state is a handful of records: globals, config, nodes, devices, and per live job
 * its spec, run and model. core_apply() stores one record; it computes nothing, so a
 * journal of changes rebuilds the state without ever deciding again. Invariants:
 *   1. jobs[] is sorted by id; ids only rise, so an arrival is appended.
 *   2. A job in a final state is not in jobs[].
 *   3. Nothing here reads config or policy: the fold does not depend on rules.
 *   4. What is derived (sums of the cluster, the wake, the remembered rows) is a function
 *      of the records and never written down. Rows are remembered where they are asked
 *      for, behind a pointer, so that deciding may fill them in: a pure function gives
 *      the same row again. Here they are forgotten when spec or model change.
 * Not here: what an event means (decide*.c), what follows for the outside (duty.c). */
#include "core/core.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "core/perf/row.h"
#include "core/plan.h"

struct core {
    struct globals globals;
    struct config config;
    struct cluster cluster;
    struct job **jobs;
    size_t n_jobs;
    size_t cap_jobs;
    usec_t jobs_wake_us;      /* the least job_wake() of all jobs */
    struct profile *profiles; /* sorted by uid, family, device_type */
    size_t n_profiles;
    size_t cap_profiles;
    struct plan_scratch *scratch;
};

struct core *core_new(void)
{
    struct core *core = mem_new(1, sizeof *core);

    if (!core)
        return NULL;
    core->scratch = plan_scratch_new();
    if (!core->scratch) {
        mem_free(core);
        return NULL;
    }
    core->globals = (struct globals){
        .next_job = 1, .next_order = 1, .head_order = -1, .plan_wake_us = USEC_NEVER};
    core->jobs_wake_us = USEC_NEVER;
    config_defaults(&core->config);
    cluster_init(&core->cluster);
    return core;
}

static void job_free(struct job *job)
{
    if (!job)
        return;
    job_spec_release(&job->spec);
    if (job->memo)
        row_memo_release(job->memo);
    mem_free(job->memo);
    mem_free(job);
}

void core_free(struct core *core)
{
    if (!core)
        return;
    for (size_t i = 0; i < core->n_jobs; i++)
        job_free(core->jobs[i]);
    mem_free(core->jobs);
    mem_free(core->profiles);
    cluster_release(&core->cluster);
    plan_scratch_free(core->scratch);
    mem_free(core);
}

/* Index of the first job with an id not below this one. */
static size_t lower_bound(const struct core *core, uint32_t id)
{
    size_t low = 0;
    size_t high = core->n_jobs;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (core->jobs[middle]->spec.id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct job *find(const struct core *core, uint32_t id)
{
    size_t i = lower_bound(core, id);

    return i < core->n_jobs && core->jobs[i]->spec.id == id ? core->jobs[i] : NULL;
}

/* The moment at which this job needs attention without any event. */
static usec_t job_wake(const struct job *job)
{
    const struct job_run *run = &job->run;
    usec_t wake = USEC_NEVER;

    if (run->retry_us > 0)
        wake = run->retry_us;
    if (job->spec.time_limit_us > 0 &&
        (run->state == JOB_RUNNING || run->state == JOB_RESIZING))
        wake = i64_min(wake, run->since_us + job->spec.time_limit_us - run->active_us);
    return wake;
}

static void find_wake(struct core *core)
{
    core->jobs_wake_us = USEC_NEVER;
    for (size_t i = 0; i < core->n_jobs; i++)
        core->jobs_wake_us = i64_min(core->jobs_wake_us, job_wake(core->jobs[i]));
}

/* The job's wake was this, and may be another one now. Only when the first of all moved
 * are the others asked. */
static void move_wake(struct core *core, usec_t before_us, usec_t now_us)
{
    if (now_us <= core->jobs_wake_us)
        core->jobs_wake_us = now_us;
    else if (before_us == core->jobs_wake_us)
        find_wake(core);
}

/* Moments and spans of sound records; beyond, sums could overflow. */
static bool is_time(usec_t us)
{
    return us >= 0 && us <= INT64_MAX / 8;
}

static bool is_sound_run(const struct job_run *run)
{
    return (unsigned)run->state < JOB_STATE_MAX && (unsigned)run->goal < JOB_STATE_MAX &&
           (unsigned)run->phase < JOB_PHASE_MAX && is_time(run->since_us) &&
           is_time(run->active_us) && is_time(run->moved_us) && is_time(run->retry_us) &&
           is_time(run->device_us) && is_time(run->stall_us[JOB_STALL_RESTART]) &&
           is_time(run->warm_up_us) && run->saves_failed >= 0 &&
           run->saves_failed <= INT16_MAX &&
           (run->phase != JOB_PHASE_NONE) == (run->state == JOB_RESIZING);
}

/* Takes the spec over. */
static int add_job(struct core *core, const struct job_spec *spec)
{
    struct job *job = mem_new(1, sizeof *job);
    struct row_memo *memo = mem_new(1, sizeof *memo);
    void *jobs = core->jobs;

    if (!job || !memo ||
        mem_reserve(&jobs, &core->cap_jobs, core->n_jobs + 1, sizeof(struct job *)) < 0) {
        mem_free(job);
        mem_free(memo);
        return E_NOMEM;
    }
    core->jobs = jobs;
    job->spec = *spec;
    job->run.id = spec->id;
    job->memo = memo;
    core->jobs[core->n_jobs++] = job;
    return 0;
}

static int apply_spec(struct core *core, const struct job_spec *spec)
{
    struct job *job = find(core, spec->id);
    struct job_spec copy;
    usec_t wake_us;
    int rc = 0;

    if (spec->id == 0 || !is_time(spec->time_limit_us) || !is_time(spec->grace_us))
        return E_CORRUPT;
    if (!job && core->n_jobs > 0 && core->jobs[core->n_jobs - 1]->spec.id > spec->id)
        return E_CORRUPT;
    if (job_spec_copy(&copy, spec) < 0)
        return E_NOMEM;
    if (job) {
        wake_us = job_wake(job);
        job_spec_release(&job->spec);
        job->spec = copy;
        row_forget(job->memo);
        move_wake(core, wake_us, job_wake(job));
    } else {
        rc = add_job(core, &copy);
    }
    if (rc < 0)
        job_spec_release(&copy);
    return rc;
}

static int apply_run(struct core *core, const struct job_run *run)
{
    size_t i = lower_bound(core, run->id);
    struct job *job = find(core, run->id);
    usec_t wake_us;

    if (!job || !is_sound_run(run))
        return E_CORRUPT;
    if (run->state != job->run.state &&
        !job_state_may_follow(job->run.state, run->state) && job->run.order != 0)
        return E_CORRUPT;
    if (run->generation < job->run.generation || run->incarnation < job->run.incarnation)
        return E_CORRUPT;
    wake_us = job_wake(job);
    job->run = *run;
    if (!job_state_is_final(run->state)) {
        move_wake(core, wake_us, job_wake(job));
        return 0;
    }
    job_free(job);
    core->n_jobs--;
    memmove(core->jobs + i, core->jobs + i + 1, (core->n_jobs - i) * sizeof *core->jobs);
    move_wake(core, wake_us, USEC_NEVER);
    return 0;
}

static int apply_model(struct core *core, uint32_t id, const struct perf_model *model)
{
    struct job *job = find(core, id);

    if (!job)
        return E_CORRUPT;
    job->model = *model;
    row_forget(job->memo);
    return 0;
}

static int apply_globals(struct core *core, const struct globals *g)
{
    if (!is_time(g->now_us) || !is_time(g->planned_us) || !is_time(g->wanted_us) ||
        !is_time(g->since_us) || !is_time(g->confirm_until_us))
        return E_CORRUPT;
    core->globals = *g;
    return 0;
}

static int apply_config(struct core *core, const struct config *config)
{
    if (!is_time(config->interval_us))
        return E_CORRUPT;
    core->config = *config;
    return 0;
}

static int apply_node(struct core *core, const struct node *node)
{
    const struct cluster *c = &core->cluster;

    if (node->index > (uint32_t)c->n_nodes || node->devices < 0)
        return E_CORRUPT;
    if (node->index < (uint32_t)c->n_nodes &&
        c->nodes[node->index].devices != node->devices)
        return E_CORRUPT;
    return cluster_put_node(&core->cluster, node);
}

static int apply_hold(struct core *core, const struct hold *hold)
{
    if (hold->first < 0 || hold->count < 1 ||
        hold->count > core->cluster.n_devices - hold->first)
        return E_CORRUPT;
    cluster_put_hold(&core->cluster, hold);
    return 0;
}

static int apply_mark(struct core *core, const struct device_mark *mark)
{
    if (!is_time(mark->since_us))
        return E_CORRUPT;
    return cluster_put_mark(&core->cluster, mark);
}

static int profile_cmp(const struct profile *p, uint32_t uid, const char *family,
                       const char *device_type)
{
    int order;

    if (p->uid != uid)
        return p->uid < uid ? -1 : 1;
    order = strcmp(p->family, family);
    return order != 0 ? order : strcmp(p->device_type, device_type);
}

/* Index of the first profile that is not before this key. */
static size_t profile_bound(const struct core *core, uint32_t uid, const char *family,
                            const char *device_type)
{
    size_t low = 0;
    size_t high = core->n_profiles;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (profile_cmp(&core->profiles[middle], uid, family, device_type) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int apply_profile(struct core *core, const struct profile *profile)
{
    size_t i = profile_bound(core, profile->uid, profile->family, profile->device_type);
    bool is_known =
        i < core->n_profiles && profile_cmp(&core->profiles[i], profile->uid,
                                            profile->family, profile->device_type) == 0;
    void *profiles = core->profiles;

    if (profile->is_removed && !is_known)
        return E_CORRUPT;
    if (!is_known && mem_reserve(&profiles, &core->cap_profiles, core->n_profiles + 1,
                                 sizeof *core->profiles) < 0)
        return E_NOMEM;
    core->profiles = profiles;
    if (profile->is_removed) {
        core->n_profiles--;
        memmove(core->profiles + i, core->profiles + i + 1,
                (core->n_profiles - i) * sizeof *core->profiles);
        return 0;
    }
    if (!is_known) {
        memmove(core->profiles + i + 1, core->profiles + i,
                (core->n_profiles - i) * sizeof *core->profiles);
        core->n_profiles++;
    }
    core->profiles[i] = *profile;
    return 0;
}

int core_apply(struct core *core, const struct change *change)
{
    switch (change->kind) {
    case CHANGE_GLOBALS:
        return apply_globals(core, &change->u.globals);
    case CHANGE_CONFIG:
        return apply_config(core, &change->u.config);
    case CHANGE_NODE:
        return apply_node(core, &change->u.node);
    case CHANGE_HOLD:
        return apply_hold(core, &change->u.hold);
    case CHANGE_SPEC:
        return apply_spec(core, change->u.spec);
    case CHANGE_MODEL:
        return apply_model(core, change->u.model.job, change->u.model.model);
    case CHANGE_RUN:
        return apply_run(core, &change->u.run);
    case CHANGE_PROFILE:
        return apply_profile(core, change->u.profile);
    case CHANGE_MARK:
        return apply_mark(core, &change->u.mark);
    case CHANGE_KIND_MAX:
        break;
    }
    return E_CORRUPT;
}

static int snapshot_holds(const struct core *core, struct changes *out)
{
    const struct cluster *c = &core->cluster;
    struct change *change;

    for (int32_t i = 0; i < c->n_devices;) {
        const struct device *d = &c->devices[i];
        int32_t n = 1;

        while (i + n < c->n_devices && c->devices[i + n].job == d->job &&
               c->devices[i + n].flags == d->flags)
            n++;
        if (d->job != 0) {
            change = changes_add(out, CHANGE_HOLD);
            if (!change)
                return E_NOMEM;
            change->u.hold = (struct hold){i, n, d->job, d->flags};
        }
        i += n;
    }
    return 0;
}

static int snapshot_marks(const struct core *core, struct changes *out)
{
    const struct cluster *c = &core->cluster;

    for (int32_t i = 0; i < c->marks.n; i++) {
        struct change *change = changes_add(out, CHANGE_MARK);

        if (!change)
            return E_NOMEM;
        change->u.mark = c->marks.items[i];
    }
    return 0;
}

static int snapshot_job(const struct job *job, struct changes *out)
{
    struct change *change = changes_add(out, CHANGE_SPEC);

    if (!change)
        return E_NOMEM;
    change->u.spec = mem_new(1, sizeof *change->u.spec);
    if (!change->u.spec || job_spec_copy(change->u.spec, &job->spec) < 0)
        return E_NOMEM;
    change = changes_add(out, CHANGE_MODEL);
    if (!change)
        return E_NOMEM;
    change->u.model.job = job->spec.id;
    change->u.model.model = mem_new(1, sizeof *change->u.model.model);
    if (!change->u.model.model)
        return E_NOMEM;
    *change->u.model.model = job->model;
    change = changes_add(out, CHANGE_RUN);
    if (!change)
        return E_NOMEM;
    change->u.run = job->run;
    return 0;
}

static int snapshot_profile(const struct profile *profile, struct changes *out)
{
    struct change *change = changes_add(out, CHANGE_PROFILE);

    if (!change)
        return E_NOMEM;
    change->u.profile = mem_new(1, sizeof *change->u.profile);
    if (!change->u.profile)
        return E_NOMEM;
    *change->u.profile = *profile;
    return 0;
}

int core_snapshot(const struct core *core, struct changes *out)
{
    struct change *change = changes_add(out, CHANGE_GLOBALS);
    int rc = 0;

    if (!change)
        return E_NOMEM;
    change->u.globals = core->globals;
    change = changes_add(out, CHANGE_CONFIG);
    if (!change)
        return E_NOMEM;
    change->u.config = core->config;
    for (int32_t i = 0; i < core->cluster.n_nodes; i++) {
        change = changes_add(out, CHANGE_NODE);
        if (!change)
            return E_NOMEM;
        change->u.node = core->cluster.nodes[i];
    }
    rc = snapshot_marks(core, out);
    for (size_t i = 0; i < core->n_profiles && rc == 0; i++)
        rc = snapshot_profile(&core->profiles[i], out);
    for (size_t i = 0; i < core->n_jobs && rc == 0; i++)
        rc = snapshot_job(core->jobs[i], out);
    return rc < 0 ? rc : snapshot_holds(core, out);
}

struct plan_scratch *core_plan_scratch(const struct core *core)
{
    return core->scratch;
}

const struct globals *core_globals(const struct core *core)
{
    return &core->globals;
}

const struct config *core_config(const struct core *core)
{
    return &core->config;
}

const struct cluster *core_cluster(const struct core *core)
{
    return &core->cluster;
}

size_t core_n_jobs(const struct core *core)
{
    return core->n_jobs;
}

const struct job *core_job_at(const struct core *core, size_t index)
{
    ASSERT(index < core->n_jobs);
    return core->jobs[index];
}

const struct job *core_find_job(const struct core *core, uint32_t id)
{
    return find(core, id);
}

const struct profile *core_find_profile(const struct core *core, uint32_t uid,
                                        const char *family, const char *device_type)
{
    size_t i = profile_bound(core, uid, family, device_type);

    if (i == core->n_profiles ||
        profile_cmp(&core->profiles[i], uid, family, device_type) != 0)
        return NULL;
    return &core->profiles[i];
}

size_t core_n_profiles(const struct core *core)
{
    return core->n_profiles;
}

const struct profile *core_profile_at(const struct core *core, size_t index)
{
    ASSERT(index < core->n_profiles);
    return &core->profiles[index];
}

bool core_needs_plan(const struct core *core, usec_t *ret_not_before_us)
{
    const struct globals *g = &core->globals;
    usec_t interval = core->config.interval_us;
    usec_t due_us;

    if (!g->needs_plan)
        return false;
    *ret_not_before_us = g->now_us;
    if (interval == 0)
        return true;
    due_us = i64_div_up(g->wanted_us, interval) * interval;
    if (g->plans > 0 && due_us <= g->planned_us) /* wanted in the moment of a plan */
        due_us = (g->planned_us / interval + 1) * interval;
    *ret_not_before_us = i64_max(g->now_us, due_us);
    return true;
}

usec_t core_next_wake(const struct core *core)
{
    const struct globals *g = &core->globals;
    usec_t wake = i64_min(g->plan_wake_us, core->jobs_wake_us);

    if (g->confirm_until_us > 0)
        wake = i64_min(wake, g->confirm_until_us);
    return wake;
}
