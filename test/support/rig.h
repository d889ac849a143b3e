/* SPDX-License-Identifier: Apache-2.0 */
/* rig.h - a core under test: decide, apply, check after every step.
 *
 * Header only, so that any unit test may use it. Each call ASSERTs by cmocka that all
 * invariants hold afterwards; a refusal is returned. */
#ifndef TEST_SUPPORT_RIG_H
#define TEST_SUPPORT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/core.h"
#include "core/duty.h"

struct rig {
    struct core *core;
    struct changes changes;
    struct err err;
    usec_t now_us;
};

static inline int rig_event(struct rig *r, struct event event)
{
    struct err err = {0};
    int rc;

    event.time_us = r->now_us;
    changes_clear(&r->changes);
    err_clear(&r->err);
    rc = core_decide(r->core, &event, &r->changes, &r->err);
    if (rc < 0)
        assert_int_equal(r->changes.n, 0);
    for (size_t i = 0; i < r->changes.n; i++)
        assert_int_equal(core_apply(r->core, &r->changes.items[i]), 0);
    if (core_check(r->core, &err) < 0)
        fail_msg("after %s: %s", event_kind_name(event.kind), err.text);
    return rc;
}

static inline void rig_init(struct rig *r)
{
    memset(r, 0, sizeof *r);
    r->core = core_new();
    r->now_us = USEC_PER_SEC;
    changes_init(&r->changes);
    assert_non_null(r->core);
}

static inline void rig_release(struct rig *r)
{
    changes_release(&r->changes);
    core_free(r->core);
}

static inline void rig_node(struct rig *r, const char *name, int32_t devices)
{
    struct event event = {.kind = EVENT_NODE_UP, .node = {.devices = devices}};

    (void)snprintf(event.node.name, sizeof event.node.name, "%s", name);
    assert_int_equal(rig_event(r, event), 0);
}

/* The device's state, as the backend of its node tells it. */
static inline void rig_mark(struct rig *r, const char *node, int32_t device,
                            enum device_state state, const char *who)
{
    struct event event = {.kind = EVENT_DEVICE, .device = device, .device_state = state};

    (void)snprintf(event.node.name, sizeof event.node.name, "%s", node);
    (void)snprintf(event.text, sizeof event.text, "%s", who);
    assert_int_equal(rig_event(r, event), 0);
}

static inline struct job_spec rig_spec(const char *name, int32_t min, int32_t max)
{
    struct job_spec spec = {
        .level = min == max ? JOB_RIGID : JOB_RESTARTABLE,
        .sizes = {.min = min, .max = max},
        .grace_us = USEC_PER_SEC,
    };

    (void)snprintf(spec.name, sizeof spec.name, "%s", name);
    return spec;
}

/* Returns the id, or a negative E_*. */
static inline int rig_submit(struct rig *r, struct job_spec spec)
{
    uint32_t id = core_globals(r->core)->next_job;
    int rc = rig_event(r, (struct event){.kind = EVENT_SUBMIT, .spec = &spec});

    return rc < 0 ? rc : (int)id;
}

static inline void rig_plan(struct rig *r)
{
    assert_int_equal(rig_event(r, (struct event){.kind = EVENT_PLAN}), 0);
}

static inline const struct job_run *rig_run(const struct rig *r, int id)
{
    const struct job *job = core_find_job(r->core, (uint32_t)id);

    return job ? &job->run : NULL;
}

/* An event about the newest incarnation of the job. */
static inline int rig_report(struct rig *r, enum event_kind kind, int id,
                             const char *node, enum job_cause cause)
{
    struct event event = {
        .kind = kind, .job = (uint32_t)id, .cause = cause, .samples = -1};

    event.incarnation = rig_run(r, id) ? rig_run(r, id)->incarnation : 1;
    (void)snprintf(event.node.name, sizeof event.node.name, "%s", node);
    return rig_event(r, event);
}

/* Starts everything that a plan put into STARTING or the START phase. */
static inline void rig_start_all(struct rig *r)
{
    for (size_t i = 0; i < core_n_jobs(r->core); i++) {
        const struct job *job = core_job_at(r->core, i);

        if (job_duty(job).kind == DUTY_START)
            (void)rig_report(r, EVENT_STARTED, (int)job->spec.id, "", JOB_CAUSE_NONE);
    }
}

static inline int32_t rig_held(const struct rig *r, int id)
{
    return cluster_held(core_cluster(r->core), (uint32_t)id, HOLD_NOW | HOLD_NEXT);
}

static inline enum duty_kind rig_duty(const struct rig *r, int id)
{
    return job_duty(core_find_job(r->core, (uint32_t)id)).kind;
}

/* Targets are carried out as they are. */
static inline void rig_set_scaler_none(struct rig *r)
{
    struct event event = {.kind = EVENT_CONFIG, .config = *core_config(r->core)};

    event.config.scaler = CONFIG_SCALER_NONE;
    assert_int_equal(rig_event(r, event), 0);
}

/* A cluster of one node n1 with four devices, without a scaler. */
static inline void rig_init_four(struct rig *r)
{
    rig_init(r);
    rig_node(r, "n1", 4);
    rig_set_scaler_none(r);
}

/* Submits, plans and starts; returns the id. */
static inline int rig_start_one(struct rig *r, struct job_spec spec)
{
    int id = rig_submit(r, spec);

    assert_true(id > 0);
    rig_plan(r);
    assert_int_equal(rig_run(r, id)->state, JOB_STARTING);
    assert_int_equal(rig_report(r, EVENT_STARTED, id, "", JOB_CAUSE_NONE), 0);
    assert_int_equal(rig_run(r, id)->state, JOB_RUNNING);
    return id;
}

static inline void rig_lose(struct rig *r, const char *name)
{
    struct event event = {.kind = EVENT_NODE_LOST};

    (void)snprintf(event.node.name, sizeof event.node.name, "%s", name);
    assert_int_equal(rig_event(r, event), 0);
}

#endif
