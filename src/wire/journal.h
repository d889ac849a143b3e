/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - events, changes and snapshots as JSON text, and back.
 *
 * Sorted keys, integers with units in their names, no floating point (DESIGN 2). Unknown
 * keys and absent keys are fine (defaults), unknown kinds are E_VERSION, so that an older
 * program refuses what it cannot mean. One field table per record (records.c) drives both
 * ways. */
#ifndef WIRE_JOURNAL_H
#define WIRE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/change.h"
#include "core/core.h"
#include "core/event.h"

#define WIRE_JOURNAL_FORMAT 1 /* of the text; a larger one is refused by name */
#define WIRE_KIND_VERSION   1
#define WIRE_ROW_MAX        ((size_t)64 << 20)
#define WIRE_SNAPSHOT_MAX   ((size_t)1 << 30)

/* An event with everything it points to. */
struct wire_event {
    struct event event;
    struct job_spec spec;
    struct perf_model model;
};

void wire_event_release(struct wire_event *e);

/* Only the fields that the kind uses are written. Errors stick in the buf. */
void wire_event_encode(const struct event *event, struct buf *out);
/* E_INVALID, E_VERSION or E_NOMEM. The result is self-contained; do not copy the struct.
 */
int wire_event_decode(const char *text, size_t len, struct wire_event *ret,
                      struct err *err);

void wire_changes_encode(const struct changes *changes, struct buf *out);
/* Appends to *out. */
int wire_changes_decode(const char *text, size_t len, struct changes *out,
                        struct err *err);

/* {"changes":[...],"format":1,"seq":N}: what core_snapshot() gives. */
int wire_snapshot_encode(const struct core *core, int64_t seq, struct buf *out);
int wire_snapshot_decode(const char *text, size_t len, struct changes *out,
                         int64_t *ret_seq, struct err *err);

/* 64-bit digest of the state: FNV-1a over wire_snapshot_encode(core, 0). */
int wire_digest(const struct core *core, uint64_t *ret);

/* Single records, for the API, for facts and for `show --json`: {"spec":..., "run":...}.
 */
void wire_spec_encode(const struct job_spec *spec, struct buf *out);
void wire_run_encode(const struct job_run *run, struct buf *out);
void wire_model_encode(const struct perf_model *model, struct buf *out);
int wire_spec_decode(const char *text, size_t len, struct job_spec *ret, struct err *err);
int wire_run_decode(const char *text, size_t len, struct job_run *ret, struct err *err);
int wire_model_decode(const char *text, size_t len, struct perf_model *ret,
                      struct err *err);

#endif
