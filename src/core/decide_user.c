/* SPDX-License-Identifier: Apache-2.0 */
/* decide_user.c - what people ask for: submit, update, cancel, pause, resume, settings,
 * nodes.
 *
 * Every refusal names the field, the reason and what would be accepted, and leaves no
 * trace. Whether a job can ever run is judged against the configured cluster, lost nodes
 * included, never against the moment (seed-paper.md section 7). */
#include "core/decide.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "core/perf/learn.h"
#include "core/perf/row.h"
#include "core/policy/policy.h"

static const struct job *wanted_job(const struct draft *d, const struct event *event,
                                    struct err *err)
{
    const struct job *job = core_find_job(d->core, event->job);

    if (!job)
        (void)err_field(err, E_NOTFOUND, "id", "%u is not a live job", event->job);
    return job;
}

/* What the cluster has for this device type; for any, the most of each: a job lies on
 * devices of one type. */
static struct cluster_type reach_of(const struct cluster *c, const char *device_type)
{
    struct cluster_type reach = {0};

    for (int32_t i = 0; i < c->n_types; i++) {
        const struct cluster_type *type = &c->types[i];

        if (device_type[0] != '\0' && strcmp(type->name, device_type) != 0)
            continue;
        reach.configured = i32_max(reach.configured, type->configured);
        reach.largest_node = i32_max(reach.largest_node, type->largest_node);
    }
    return reach;
}

/* Whether some size has a plan, and the cluster could ever hold it. */
static int check_feasible(const struct core *core, const struct job_spec *spec,
                          const struct perf_model *model, struct err *err)
{
    const struct cluster *c = core_cluster(core);
    const struct policy *policy = policy_find(core_config(core)->policy);
    struct cluster_type reach = reach_of(c, spec->device_type);
    struct row_rule rule = {.devices_per_node = reach.largest_node};
    int32_t configured = reach.configured;
    struct row row;
    int32_t least;
    int rc;

    ASSERT(policy != NULL);
    rule.batch = policy->batch;
    row_init(&row);
    rc = row_build(&row, spec, model, &rule, err);
    least = row_min_size(&row);
    row_release(&row);
    if (rc < 0)
        return rc;
    if (c->n_nodes > 0 && configured == 0)
        return err_field(err, E_INFEASIBLE, "device-type", "%s is on no node",
                         spec->device_type[0] ? spec->device_type : "any");
    if (c->n_nodes > 0 && least > configured)
        return err_field(err, E_INFEASIBLE, "gpus",
                         "needs at least %d, the cluster has %d%s; ask for %d or fewer",
                         least, configured,
                         configured < cluster_configured(c, "") ? " of one type" : "",
                         configured);
    return 0;
}

static int check_model(const struct perf_model *model, struct err *err)
{
    return model ? model_check(model, err) : 0;
}

/* What is known of a new job: what it states, else the profile of its family, unless
 * nothing that was measured is to be used. */
static void first_model(const struct core *core, const struct job_spec *spec,
                        const struct perf_model *stated, struct perf_model *ret)
{
    char family[NAME_MAX_BYTES];
    const struct profile *profile;

    *ret = (struct perf_model){0};
    if (stated) {
        *ret = *stated;
        return;
    }
    if (spec->profile == JOB_PROFILE_OFF)
        return;
    job_spec_family(spec, family);
    profile = core_find_profile(core, spec->uid, family, spec->device_type);
    if (profile)
        learn_from_profile(ret, &profile->model);
}

int decide_submit(struct draft *d, const struct event *event, struct err *err)
{
    struct perf_model model;
    struct job_spec spec = *event->spec;
    struct job_run run = {0};
    int rc;

    if (core_n_jobs(d->core) >= JOBS_MAX)
        return err_set(err, E_LIMIT, "the queue holds %d jobs already", JOBS_MAX);
    job_spec_complete(&spec);
    rc = job_spec_check(&spec, err);
    if (rc == 0)
        rc = check_model(event->model, err);
    if (rc < 0)
        return rc;
    first_model(d->core, &spec, event->model, &model);
    rc = check_feasible(d->core, &spec, &model, err);
    if (rc < 0)
        return rc;
    spec.id = d->globals.next_job++;
    run.id = spec.id;
    run.order = d->globals.next_order++;
    run.submit_us = d->now_us;
    run.since_us = d->now_us;
    run.retries_left = spec.retries;
    (void)snprintf(run.reason, sizeof run.reason, "%s", "waits for the next plan");
    draft_put_spec(d, &spec);
    draft_put_model(d, spec.id, &model);
    draft_put_run(d, &run);
    d->globals.arrivals++;
    d->globals.needs_plan = true;
    return 0;
}

/* What an update may not touch once the job exists. */
static int check_unchanged(const struct job *job, const struct job_spec *spec,
                           struct err *err)
{
    const struct job_spec *old = &job->spec;
    const char *field = NULL;

    if (spec->uid != old->uid || spec->gid != old->gid)
        field = "uid";
    else if (spec->level != old->level)
        field = "level";
    else if (spec->samples_total != old->samples_total)
        field = "samples";
    else if (strcmp(spec->device_type, old->device_type) != 0)
        field = "device-type";
    else if ((spec->launch == NULL) != (old->launch == NULL) ||
             (spec->launch && strcmp(spec->launch, old->launch) != 0))
        field = "command";
    else if (job->run.has_started && spec->batch_base != old->batch_base)
        field = "base-batch";
    else if (job->run.has_started && spec->lr_rule != old->lr_rule)
        field = "lr-rule";
    if (!field)
        return 0;
    return err_field(err, E_INVALID, field,
                     "cannot change any more; submit a new job for that");
}

/* The model under another profile. Measurements are dropped when they are not to be used
 * any more; when they are again, the job begins with what its family knows. What was
 * stated stands, and so does the ceiling that memory has set: that is no measurement.
 * False: the model stays. */
static bool model_after(const struct core *core, const struct job *job,
                        const struct job_spec *spec, struct perf_model *ret)
{
    bool was_off = job->spec.profile == JOB_PROFILE_OFF;
    bool is_off = spec->profile == JOB_PROFILE_OFF;
    int32_t ceiling = job->model.micro_limit;

    *ret = job->model;
    if (was_off == is_off || job->model.source == MODEL_STATED)
        return false;
    first_model(core, spec, NULL, ret);
    if (ceiling > 0 && (ret->micro_limit == 0 || ceiling < ret->micro_limit))
        ret->micro_limit = ceiling;
    return true;
}

int decide_update(struct draft *d, const struct event *event, struct err *err)
{
    const struct job *job = wanted_job(d, event, err);
    struct job_spec spec = *event->spec;
    struct perf_model model;
    bool is_other_model;
    int rc;

    if (!job)
        return E_NOTFOUND;
    spec.id = job->spec.id;
    is_other_model = model_after(d->core, job, &spec, &model);
    job_spec_complete(&spec);
    rc = job_spec_check(&spec, err);
    if (rc == 0)
        rc = check_unchanged(job, &spec, err);
    if (rc == 0 && job->spec.level == JOB_RIGID && job->run.state != JOB_QUEUED &&
        spec.sizes.min != job->spec.sizes.min)
        rc = err_field(err, E_STATE, "gpus", "cannot change while a rigid job is %s",
                       job_state_name(job->run.state));
    if (rc == 0)
        rc = check_feasible(d->core, &spec, &model, err);
    if (rc < 0)
        return rc;
    draft_put_spec(d, &spec);
    if (is_other_model)
        draft_put_model(d, spec.id, &model);
    if (spec.retries != job->spec.retries) {
        struct job_run run = job->run;

        run.retries_left =
            i32_max(0, run.retries_left + spec.retries - job->spec.retries);
        draft_put_run(d, &run);
    }
    d->globals.needs_plan = true;
    return 0;
}

/* Ends or interrupts a job that holds devices, or moves one that holds none. */
static void leave(struct draft *d, const struct job *job, enum job_state goal,
                  const char *why)
{
    struct job_run run = job->run;

    if (run.state == JOB_STOPPING) {
        job_set_goal(&run, goal, "%s", why);
    } else if (job_state_holds_devices(run.state)) {
        job_move(&run, JOB_STOPPING, goal, d->now_us, "%s", why);
    } else {
        job_move(&run, goal, goal, d->now_us, "%s", why);
        if (job_state_is_final(goal))
            d->globals.departures++;
    }
    draft_put_run(d, &run);
    d->globals.needs_plan = true;
}

int decide_cancel(struct draft *d, const struct event *event, struct err *err)
{
    const struct job *job = wanted_job(d, event, err);

    if (!job)
        return E_NOTFOUND;
    if (job->run.state == JOB_STOPPING && job_state_is_final(job->run.goal))
        return err_field(err, E_STATE, "id", "%u is ending already (%s)", event->job,
                         job_state_name(job->run.goal));
    leave(d, job, JOB_CANCELLED, event->text[0] ? event->text : "cancelled by its owner");
    return 0;
}

int decide_pause(struct draft *d, const struct event *event, struct err *err)
{
    const struct job *job = wanted_job(d, event, err);
    const struct job_run *run;

    if (!job)
        return E_NOTFOUND;
    run = &job->run;
    if (run->state == JOB_PAUSED ||
        (run->state == JOB_STOPPING && run->goal == JOB_PAUSED))
        return err_field(err, E_STATE, "id", "%u is paused already", event->job);
    if (run->state == JOB_STOPPING && job_state_is_final(run->goal))
        return err_field(err, E_STATE, "id", "%u is ending already (%s)", event->job,
                         job_state_name(run->goal));
    if (job->spec.level == JOB_RIGID && job_state_holds_devices(run->state))
        return err_field(err, E_STATE, "id",
                         "%u is rigid and cannot save its work; cancel "
                         "it, or pause it while it waits",
                         event->job);
    leave(d, job, JOB_PAUSED, event->text[0] ? event->text : "paused by its owner");
    return 0;
}

int decide_resume(struct draft *d, const struct event *event, struct err *err)
{
    const struct job *job = wanted_job(d, event, err);
    const struct job_run *run;

    if (!job)
        return E_NOTFOUND;
    run = &job->run;
    if (run->state != JOB_PAUSED &&
        !(run->state == JOB_STOPPING && run->goal == JOB_PAUSED))
        return err_field(err, E_STATE, "id", "%u is %s, not paused", event->job,
                         job_state_name(run->state));
    leave(d, job, JOB_QUEUED, event->text[0] ? event->text : "resumed by its owner");
    return 0;
}

int decide_config(struct draft *d, const struct event *event, struct err *err)
{
    int rc = config_check(&event->config, err);

    if (rc < 0)
        return rc;
    draft_put_config(d, &event->config);
    d->globals.needs_plan = true;
    return 0;
}

static int check_node(const struct draft *d, const struct node *node, struct err *err)
{
    const struct cluster *c = core_cluster(d->core);

    if (node->name[0] == '\0')
        return err_field(err, E_INVALID, "node", "has no name");
    if (node->devices < 0 || node->devices > NODE_DEVICES_MAX)
        return err_field(err, E_LIMIT, "devices", "is %d on node %s; 0 to %d",
                         node->devices, node->name, NODE_DEVICES_MAX);
    if (c->n_nodes >= NODES_MAX)
        return err_field(err, E_LIMIT, "node", "is one too many; at most %d", NODES_MAX);
    if (c->n_devices > DEVICES_MAX - node->devices)
        return err_field(err, E_LIMIT, "devices", "would be more than %d in all",
                         DEVICES_MAX);
    return 0;
}

int decide_node_up(struct draft *d, const struct event *event, struct err *err)
{
    const struct cluster *c = core_cluster(d->core);
    const struct node *known = cluster_find_node(c, event->node.name);
    struct node node = event->node;
    int rc = check_node(d, &node, err);

    if (rc < 0)
        return rc;
    if (known && known->devices != node.devices)
        return err_field(err, E_INVALID, "devices",
                         "of node %s were %d and cannot become %d; give it a new name",
                         node.name, known->devices, node.devices);
    if (known && known->state == NODE_UP)
        return 0;
    node.index = known ? known->index : (uint32_t)c->n_nodes;
    node.first = known ? known->first : c->n_devices;
    node.state = NODE_UP;
    node.since_us = d->now_us;
    draft_put_node(d, &node);
    d->globals.needs_plan = true;
    return 0;
}
