/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - everything that can happen to the core. An event carries its own time;
 * nothing else does. The list is append-only: names and numbers stand in journals for
 * ever. */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include <stdint.h>

#include "base/units.h"
#include "core/cluster.h"
#include "core/config.h"
#include "core/job.h"
#include "core/perf/model.h"

enum event_kind {
    EVENT_CONFIG,    /* config */
    EVENT_NODE_UP,   /* node: a new node by name, or a lost one that is back */
    EVENT_NODE_LOST, /* node.name */
    EVENT_SUBMIT,    /* spec, model (optional: MODEL_PRIOR when nothing is stated) */
    EVENT_UPDATE, /* job.id, spec: the whole new spec; what may not change is refused */
    EVENT_CANCEL, /* job.id, text: by whom */
    EVENT_PAUSE,
    EVENT_RESUME,
    EVENT_STARTED,     /* job.id, incarnation: all ranks are up */
    EVENT_SAVED,       /* job.id, incarnation, samples: answer to DUTY_SAVE */
    EVENT_SAVE_FAILED, /* job.id, incarnation, text */
    EVENT_EXIT,        /* job.id, incarnation, node.name, cause, exit_code, samples, text:
                          every process of that incarnation on that node has ended */
    EVENT_PERF,        /* job.id, incarnation, samples, samples_total, rate_milli,
                          warm_up_us */
    EVENT_MODEL,       /* job.id, model */
    EVENT_DAEMON_START, /* the daemon starts on this state: live jobs become unconfirmed
                         */
    EVENT_ADOPTED,      /* job.id, incarnation: its shims answered */
    EVENT_WAKE,         /* the moment of core_next_wake() has come */
    EVENT_PLAN,         /* the input queue is empty: policy, allocator and scaler run */
    EVENT_DEVICE,       /* node.name, device, device_state, text: who */
    EVENT_KIND_MAX
};

struct event {
    enum event_kind kind;
    usec_t time_us;
    struct config config;
    struct node node;               /* name, device_type, devices */
    struct job_spec *spec;          /* lent; the core copies what it keeps */
    const struct perf_model *model; /* lent; may be NULL at submit */
    uint32_t job;
    uint32_t incarnation;
    enum job_cause cause;
    int32_t exit_code;
    int64_t samples;       /* SAVED, EXIT, PERF, ADOPTED: samples_done as the trainer
                              or its checkpoint says; -1: no word */
    int64_t samples_total; /* PERF: of the training, as the trainer says; 0: no word */
    int64_t rate_milli;
    usec_t warm_up_us; /* PERF: span lost before the steps that count; 0: no word */
    int32_t device;    /* DEVICE: index on its node */
    enum device_state device_state;
    char text[REASON_MAX_BYTES];
};

const char *event_kind_name(enum event_kind kind);

#endif
