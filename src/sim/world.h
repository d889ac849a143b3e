/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - a cluster that exists only as a model: nodes, shims, ranks, checkpoints.
 *
 * It stands behind the engine's backend port where the daemon has real shims. Duties go
 * in, events come out later, all on virtual time. It keeps its own books of which
 * processes live on which device, independent of the core's, and reports when the two
 * contradict each other. A pure state machine: it knows neither engine nor story. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "base/err.h"
#include "core/core.h"
#include "core/duty.h"
#include "core/event.h"
#include "sim/scenario.h"

struct world;

/* The scenario is lent until world_free(). NULL when out of memory. Node i of the core
 * must be the i-th node of the scenario that was reported up. */
struct world *world_new(const struct scenario *scn);
void world_free(struct world *w);

/* Moment of the next thing to happen by itself; USEC_NEVER for none. */
usec_t world_next(const struct world *w);
/* Lets happen what is due until now_us; true when that gave an event (self-contained, at
 * now_us). Call it again until it returns false. */
bool world_take(struct world *w, usec_t now_us, struct event *ret);

/* What the backend port passes on. */
void world_perform(struct world *w, usec_t now_us, const struct core *core,
                   const struct job *job, const struct duty *duty);
void world_forget(struct world *w, uint32_t job);

/* Faults. False when the fault finds nothing to strike (no such process now). */
bool world_node_down(struct world *w, usec_t now_us, int32_t node);
bool world_node_up(struct world *w, usec_t now_us, int32_t node);
/* SCN_DEVICE. A start on a device that is not clean is refused. */
bool world_device(struct world *w, usec_t now_us, const struct scn_action *action);
bool world_crash(struct world *w, usec_t now_us, int32_t job, int32_t exit_code);
/* SCN_SAVE_FAILS, SCN_SAVE_HANGS, SCN_START_FAILS, SCN_LOST, SCN_LATE, SCN_TWICE: waits
 * for the next occasion. */
void world_arm(struct world *w, const struct scn_action *action);

/* The daemon is back: all shims report how things stand. */
void world_reconnect(struct world *w, usec_t now_us);

/* Live processes against the core's holds: each device has at most one live incarnation,
 * and it is one of the job that the core says holds the device now (R11). 0 or
 * E_CORRUPT. Out of memory inside the world shows here too. */
int world_check(const struct world *w, const struct core *core, struct err *err);

/* Samples per second of a job with this plan over so many nodes. */
double world_rate(const struct scn_job *job, const struct job_plan *plan, int32_t nodes);
/* The job's length in samples, from its work if need be. */
int64_t world_samples(const struct scn_job *job);

#endif
