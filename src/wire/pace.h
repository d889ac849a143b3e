/* SPDX-License-Identifier: Apache-2.0 */
/* pace.h - ELASTANE_PACE, how long a micro-batch lasts on slots that stand in for GPUs.
 * Trainers read it themselves (python/elastane/torch.py); here it is only checked. */
#ifndef WIRE_PACE_H
#define WIRE_PACE_H

#include "base/attr.h"
#include "base/err.h"

#define PACE_BYTES_MAX 96

/* "20ms+0.4ms*m": times in ns, us, ms or s, each for a micro-batch or, with *m, for a
 * sample; blanks between them; or "off". E_INVALID says what is wrong and what would be
 * accepted; E_LIMIT beyond PACE_BYTES_MAX. */
int pace_check(const char *text, struct err *err) ATTR_MUST_USE;

#endif
