/* SPDX-License-Identifier: Apache-2.0 */
/* change.c - requests that change something: submit, update, cancel, pause, resume.
 *
 * Each posts one event and is answered when the engine answers. What a repeated request
 * finds done already is a success, so that a client may repeat what it got no answer to.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/jobs.h"
#include "backend/local/vault.h"
#include "base/mem.h"
#include "core/policy/policy.h"
#include "wire/answer.h"
#include "wire/submit.h"

#define WARNINGS_MAX 4096

/* Ranks read their profile when they start, and only those of an elastic job cut steps.
 */
static bool is_cut_later(const struct job_spec *spec, const struct job *before)
{
    bool was_cut = before->spec.profile == JOB_PROFILE_PROBE;

    return was_cut != (spec->profile == JOB_PROFILE_PROBE) &&
           spec->level == JOB_ELASTIC && job_state_holds_devices(before->run.state);
}

/* What the policy in force and this backend make of the spec, one sentence a line.
 * `stated` and, of an update, `before` may be NULL. */
static char *warnings_for(const struct config *config, const struct job_spec *spec,
                          const struct perf_model *stated, const struct job *before)
{
    const struct policy *policy = policy_find(config->policy);
    struct buf text;
    char *taken;

    buf_init(&text, WARNINGS_MAX);
    if (policy && policy->batch != ROW_BATCH_JOINT && spec->batch_min != spec->batch_max)
        buf_printf(&text, "batch: policy %s trains with one batch of the range\n",
                   policy->name);
    if (policy && policy->is_rigid && spec->sizes.min != spec->sizes.max)
        buf_printf(&text, "gpus: policy %s never resizes a job\n", policy->name);
    if (spec->mem_bytes_per_device > 0)
        buf_puts(&text, "mem: the local backend does not enforce it\n");
    if (spec->level == JOB_RIGID && spec->lr_rule != JOB_LR_NONE)
        buf_puts(&text, "lr-rule: a rigid job is not told of it; it has no plan to "
                        "follow\n");
    if (spec->profile == JOB_PROFILE_OFF && !stated && spec->batch_max > spec->batch_base)
        buf_printf(&text,
                   "profile: off, without a stated model: the batch stays at its "
                   "base, %d\n",
                   spec->batch_base);
    if (before && is_cut_later(spec, before))
        buf_puts(&text,
                 "profile: plans go by it from now on; whether first steps are cut "
                 "is told to the ranks at their next start\n");
    taken = buf_take(&text);
    buf_release(&text);
    return taken;
}

static void answer_with_warnings(struct request *r, unsigned status)
{
    struct buf text;

    buf_init(&text, ANSWER_MAX);
    answer_accepted(r->match.job, r->warnings ? r->warnings : "", &text);
    request_json(r, status, &text);
}

/* Jobs are their submitter's. A daemon that is not root's can run them as its own user
 * only; then root's are that user's too. */
static void set_owner(struct job_spec *spec, const struct socket_peer *peer)
{
    bool can_become = geteuid() == 0;

    spec->uid = can_become ? peer->uid : geteuid();
    spec->gid = can_become ? peer->gid : getegid();
}

/* Puts the values of the environment apart; the spec's launch text has their names. */
static int part_environment(struct request *r, struct submit *submit, struct err *err)
{
    struct vault *vault = local_vault(r->api->local);
    struct buf values;
    struct buf text;
    int rc;

    if (submit->launch.n_env == 0)
        return 0;
    buf_init(&values, SUBMIT_BODY_MAX);
    buf_init(&text, LAUNCH_MAX_BYTES);
    rc = launch_put_env(&submit->launch, &values);
    if (rc == 0)
        rc = vault_put(vault, &values, r->vault_key, err);
    if (rc == 0)
        rc = launch_part_env(&submit->launch, r->vault_key);
    if (rc == 0)
        rc = launch_encode(&submit->launch, &text, err);
    if (rc == 0) {
        mem_free(submit->spec.launch);
        submit->spec.launch = buf_take(&text);
        rc = submit->spec.launch ? 0 : E_NOMEM;
    }
    buf_release(&values);
    buf_release(&text);
    if (rc == E_NOMEM)
        (void)err_set(err, rc, "out of memory");
    return rc;
}

static void forget_environment(struct request *r)
{
    if (r->vault_key[0])
        vault_drop_key(local_vault(r->api->local), r->vault_key);
    r->vault_key[0] = '\0';
}

static void on_submitted(void *arg, int rc, const struct err *err, uint32_t job)
{
    struct request *r = arg;

    if (rc < 0) {
        forget_environment(r);
        request_fail(r, err);
        return;
    }
    if (r->vault_key[0])
        vault_settle(local_vault(r->api->local), r->vault_key, job);
    r->match.job = job;
    answer_with_warnings(r, 201);
}

void handle_submit(struct request *r)
{
    struct submit *submit = mem_new(1, sizeof(*submit));
    struct event event = {.kind = EVENT_SUBMIT};
    struct err err = {0};
    int rc = submit ? 0 : err_set(&err, E_NOMEM, "out of memory");

    if (rc == 0) {
        submit_init(submit);
        rc = submit_decode(r->body.text, r->body.len, submit, &err);
    }
    if (rc < 0) {
        mem_free(submit);
        request_fail(r, &err);
        return;
    }
    rc = part_environment(r, submit, &err);
    if (rc < 0) {
        forget_environment(r);
        submit_release(submit);
        mem_free(submit);
        request_fail(r, &err);
        return;
    }
    set_owner(&submit->spec, &r->peer);
    event.spec = &submit->spec;
    event.model = submit->has_model ? &submit->model : NULL;
    r->warnings = warnings_for(core_config(engine_core(r->api->engine)), &submit->spec,
                               event.model, NULL);
    request_post(r, &event, on_submitted);
    if (request_is_answered(r))
        forget_environment(r); /* it was not even queued */
    submit_release(submit);
    mem_free(submit);
}

static bool may_change(const struct request *r, const struct job_spec *spec)
{
    return r->peer.uid == 0 || r->peer.uid == geteuid() || r->peer.uid == spec->uid;
}

/* The live job of the path, or NULL and the request is answered, or waits for it. */
static const struct job *wanted_job(struct request *r)
{
    const struct job *job = core_find_job(engine_core(r->api->engine), r->match.job);
    struct err err = {0};

    if (!job) {
        jobs_answer_gone(r);
        return NULL;
    }
    if (may_change(r, &job->spec))
        return job;
    (void)err_field(&err, E_DENIED, "id", "%u is a job of user %u", r->match.job,
                    job->spec.uid);
    request_fail(r, &err);
    return NULL;
}

static void on_updated(void *arg, int rc, const struct err *err, uint32_t job)
{
    struct request *r = arg;

    (void)job;
    if (rc == E_NOTFOUND) /* it ended while the request was on its way to the core */
        jobs_answer_gone(r);
    else if (rc < 0)
        request_fail(r, err);
    else
        answer_with_warnings(r, 200);
}

void handle_update(struct request *r)
{
    const struct job *job = wanted_job(r);
    struct event event = {.kind = EVENT_UPDATE, .job = r->match.job};
    struct job_spec spec = {0};
    struct err err = {0};
    int rc;

    if (!job)
        return;
    rc = job_spec_copy(&spec, &job->spec);
    if (rc < 0)
        (void)err_set(&err, rc, "out of memory");
    if (rc == 0)
        rc = submit_decode_update(r->body.text, r->body.len, &spec, &err);
    if (rc < 0) {
        request_fail(r, &err);
    } else {
        event.spec = &spec;
        r->warnings =
            warnings_for(core_config(engine_core(r->api->engine)), &spec,
                         job->model.source == MODEL_STATED ? &job->model : NULL, job);
        request_post(r, &event, on_updated);
    }
    job_spec_release(&spec);
}

static enum job_state goal_of(enum route route)
{
    if (route == ROUTE_CANCEL)
        return JOB_CANCELLED;
    return route == ROUTE_PAUSE ? JOB_PAUSED : JOB_QUEUED;
}

static enum event_kind event_of(enum route route)
{
    if (route == ROUTE_CANCEL)
        return EVENT_CANCEL;
    return route == ROUTE_PAUSE ? EVENT_PAUSE : EVENT_RESUME;
}

static void answer_state(struct request *r)
{
    const struct job *job = core_find_job(engine_core(r->api->engine), r->match.job);
    struct buf text;

    buf_init(&text, ANSWER_MAX);
    answer_moved(r->match.job, job ? job->run.state : goal_of(r->match.route), &text);
    request_json(r, 202, &text);
}

static void poll_action(struct request *r)
{
    if (request_is_durable(r))
        answer_state(r);
}

static void on_moved(void *arg, int rc, const struct err *err, uint32_t job)
{
    struct request *r = arg;

    (void)job;
    if (rc == E_NOTFOUND)
        jobs_answer_gone(r);
    else if (rc < 0)
        request_fail(r, err);
    else
        answer_state(r);
}

/* Whether the request has been carried out, or is being. */
static bool is_repeated(const struct job_run *run, enum route route)
{
    enum job_state goal = goal_of(route);

    if (route == ROUTE_RESUME)
        return false;
    return run->state == goal || (run->state == JOB_STOPPING && run->goal == goal);
}

void handle_action(struct request *r)
{
    const struct job *job = wanted_job(r);
    struct event event = {.kind = event_of(r->match.route), .job = r->match.job};

    if (!job)
        return;
    if (is_repeated(&job->run, r->match.route)) {
        request_park_until_durable(r, poll_action);
        poll_action(r);
        return;
    }
    if (r->peer.uid != job->spec.uid)
        (void)snprintf(event.text, sizeof(event.text), "%s by user %u",
                       r->match.route == ROUTE_CANCEL  ? "cancelled"
                       : r->match.route == ROUTE_PAUSE ? "paused"
                                                       : "resumed",
                       (unsigned)r->peer.uid);
    request_post(r, &event, on_moved);
}
