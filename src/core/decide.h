/* SPDX-License-Identifier: Apache-2.0 */
/* decide.h - the handlers behind core_decide(); inside the core only.
 *
 * People's events (decide_user.c) may be refused; the world's events (decide_world.c) are
 * facts: one that no longer fits is taken and changes nothing. */
#ifndef CORE_DECIDE_H
#define CORE_DECIDE_H

#include "core/draft.h"

int decide_submit(struct draft *d, const struct event *event, struct err *err);
int decide_update(struct draft *d, const struct event *event, struct err *err);
int decide_cancel(struct draft *d, const struct event *event, struct err *err);
int decide_pause(struct draft *d, const struct event *event, struct err *err);
int decide_resume(struct draft *d, const struct event *event, struct err *err);
int decide_config(struct draft *d, const struct event *event, struct err *err);
int decide_node_up(struct draft *d, const struct event *event, struct err *err);

void decide_device(struct draft *d, const struct event *event);
void decide_node_lost(struct draft *d, const struct event *event);
void decide_started(struct draft *d, const struct event *event);
void decide_saved(struct draft *d, const struct event *event);
void decide_save_failed(struct draft *d, const struct event *event);
void decide_exit(struct draft *d, const struct event *event);
void decide_perf(struct draft *d, const struct event *event);
void decide_model(struct draft *d, const struct event *event);
void decide_daemon_start(struct draft *d);
void decide_adopted(struct draft *d, const struct event *event);
void decide_wake(struct draft *d);

/* Policy, allocator, scaler, placement (plan_apply.c). */
int decide_plan(struct draft *d);

/* All processes of the job's incarnation have ended: moves a copy of its run record,
 * which is in JOB_STOPPING, to the goal, releases every device, and puts it. */
void decide_ended(struct draft *d, struct job_run *run);

#endif
