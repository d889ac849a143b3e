/* SPDX-License-Identifier: Apache-2.0 */
/* rank_page.h - the memory that shim and ranks share: steps go by it without a syscall.
 *
 * One file per incarnation, mapped by the ranks and read by the shim: a head, then one
 * slot per rank of the node. A slot has one writer, its rank, except `notices`, which only the shim raises.
 * Fields are read alone and each is atomic, so a reader may see a step without its
 * samples, never half a number. The ring of measurements is published by n_observed: the
 * writer fills an entry and then raises the count; a reader that lags more than the
 * ring's length loses the oldest. */
#ifndef WIRE_RANK_PAGE_H
#define WIRE_RANK_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#define RANK_PAGE_MAGIC   0x454c5047u
#define RANK_PAGE_LAYOUT  1
#define RANK_PAGE_HEAD    4096
#define RANK_SLOT_BYTES   4096
#define RANK_OBSERVED_CAP 128 /* a power of two */

/* What the trainer is doing, as it says; the hang rule applies to TRAIN alone. */
enum rank_phase {
    RANK_PHASE_START, /* not yet stepping */
    RANK_PHASE_TRAIN,
    RANK_PHASE_EVAL,
    RANK_PHASE_SAVE,
    RANK_PHASE_COMPILE,
    RANK_PHASE_HOLD, /* waits for the shim's word */
    RANK_PHASE_MAX
};

struct rank_page_head {
    uint32_t magic;
    uint32_t layout;
    uint32_t n_slots;
    uint32_t generation;
};

struct rank_observed {
    _Atomic uint32_t what; /* enum shim_observed */
    _Atomic uint32_t micro_batch;
    _Atomic int64_t time_ns;
};

struct rank_slot {
    _Atomic uint32_t notices; /* raised by the shim after it sent frames */
    _Atomic uint32_t phase;
    _Atomic int64_t step;         /* finished since the process began */
    _Atomic int64_t samples_done; /* trained, of the whole job */
    _Atomic int64_t moment_ns;    /* CLOCK_MONOTONIC of the last sign of life */
    _Atomic int64_t comm_bytes;   /* all-reduced per step */
    _Atomic uint64_t n_observed;
    struct rank_observed observed[RANK_OBSERVED_CAP];
};

_Static_assert(sizeof(struct rank_slot) <= RANK_SLOT_BYTES, "a slot has one page");

#endif
