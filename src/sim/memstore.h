/* SPDX-License-Identifier: Apache-2.0 */
/* memstore.h - a durable store that is made of memory: rows become durable after a
 * stated span, commits can be made to fail, and a crash forgets what was not durable. */
#ifndef SIM_MEMSTORE_H
#define SIM_MEMSTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/units.h"
#include "engine/engine.h"

struct memstore;

enum memstore_keep { MEMSTORE_KEEP, MEMSTORE_FORGET }; /* rows, once they are durable */

/* NULL when out of memory. A store that forgets cannot be loaded from. */
struct memstore *memstore_new(usec_t commit_us, enum memstore_keep keep);
void memstore_free(struct memstore *m);

/* The port's calls happen at this moment of the virtual clock. */
void memstore_set_now(struct memstore *m, usec_t now_us);
struct engine_store_port memstore_port(struct memstore *m);

/* Moment at which memstore_run() has something to say; USEC_NEVER for none. */
usec_t memstore_next(const struct memstore *m);
/* Tells the engine what has become durable, or that it cannot. True when rows have: then
 * the engine is to be run again. */
bool memstore_run(struct memstore *m, struct engine *engine);

void memstore_fail(struct memstore *m);
void memstore_mend(struct memstore *m);

/* Whether every row is durable. */
bool memstore_is_settled(const struct memstore *m);
/* The daemon dies: rows that are not durable are gone. */
void memstore_crash(struct memstore *m);
/* Feeds the newest durable snapshot and the rows after it. */
int memstore_load(const struct memstore *m, struct engine *engine, struct err *err);

#endif
