/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - the settings that decisions depend on. They live in the core's state and
 * change by a `config` event only, so that a journal replays without any outside
 * knowledge. */
#ifndef CORE_CONFIG_H
#define CORE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/units.h"
#include "core/limits.h"

/* What happens to an arrival that does not fit (seed-paper.md section 7). */
enum config_admission {
    CONFIG_ADMIT_QUEUE, /* it waits; those behind it wait too */
    CONFIG_ADMIT_SKIP,  /* it waits; later ones that fit may start */
    CONFIG_ADMIT_DROP,  /* it is dropped, unless it has run before */
    CONFIG_ADMISSION_MAX
};

enum config_scaler {
    CONFIG_SCALER_PAYBACK, /* moves must pay for themselves (DESIGN 4.7) */
    CONFIG_SCALER_NONE,    /* targets are carried out as they are (the paper, presets) */
    CONFIG_SCALER_MAX
};

struct config {
    char policy[NAME_MAX_BYTES]; /* a name of policy_find() */
    enum config_admission admission;
    enum config_scaler scaler;
    usec_t interval_us;    /* plans at multiples of this only; 0: after every event */
    usec_t min_run_us;     /* a starting victim is left alone for this span */
    usec_t min_gap_us;     /* between two voluntary moves of one job */
    usec_t admit_wait_us;  /* after this span a waiting job's admission is held back by
                              nothing but a victim that is in a move */
    usec_t reserve_us;     /* a blocked job gets devices reserved after this span */
    usec_t stall_guess_us; /* assumed stall of a restart until one was measured */
};

/* joint, queue, payback, 60 s, 30 s, 120 s, 24 h, 5 s. */
void config_defaults(struct config *config);
/* Known policy, no negative span; names the field. */
int config_check(const struct config *config, struct err *err);

const char *config_admission_name(enum config_admission admission);
const char *config_scaler_name(enum config_scaler scaler);

#endif
