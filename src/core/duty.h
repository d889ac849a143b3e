/* SPDX-License-Identifier: Apache-2.0 */
/* duty.h - what the outside owes a job in its present state.
 *
 * A pure function of the state, so the same function serves after a step (for the jobs
 * that the step touched) and after a restart (for all jobs). A duty carries job and
 * incarnation and may be performed again without harm. */
#ifndef CORE_DUTY_H
#define CORE_DUTY_H

#include "core/core.h"

enum duty_kind {
    DUTY_NONE,  /* leave it alone */
    DUTY_START, /* start incarnation `incarnation` with `plan` on the devices marked
                   HOLD_NEXT (see duty_devices); answer STARTED, or EXIT with a cause */
    DUTY_SAVE,  /* elastic: bring all ranks to one step boundary, save, and wait there;
                   answer SAVED or SAVE_FAILED, or EXIT */
    DUTY_STOP,  /* notice, grace, then SIGKILL; answer EXIT for every node */
    DUTY_GO_ON, /* train on with `plan`: nothing, unless a DUTY_SAVE is to be called off
                 */
    DUTY_KIND_MAX
};

struct duty {
    enum duty_kind kind;
    uint32_t job;
    uint32_t incarnation;
    struct job_plan plan;
    usec_t grace_us;
};

const char *duty_kind_name(enum duty_kind kind);

struct duty job_duty(const struct job *job);

/* Whether moving from one run record to the next gives the outside something new to do.
 */
bool duty_is_new(const struct job *before, const struct job *after);

/* Indices of the devices that the job holds with any of the flags, ascending; returns how
 * many there are, and writes at most cap of them. */
int32_t duty_devices(const struct cluster *cluster, uint32_t job, uint32_t flags,
                     int32_t *ret_devices, int32_t cap);

#endif
