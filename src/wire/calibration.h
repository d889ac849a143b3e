/* SPDX-License-Identifier: Apache-2.0 */
/* calibration.h - what python/elastane/calibrate.py measured, as JSON, and back.
 *
 *     {"bytes": [4096, ...], "sizes": [2, 3, 4], "time_ns": [[812000, ...], ...]}
 *
 * time_ns[i][j] belongs to sizes[i] and bytes[j]. Other keys are ignored. */
#ifndef WIRE_CALIBRATION_H
#define WIRE_CALIBRATION_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/perf/learn.h"

#define WIRE_CALIBRATION_MAX ((size_t)64 << 10)

/* E_INVALID with the field, E_LIMIT, E_NOMEM; *ret is untouched on failure. */
int wire_calibration_decode(const char *text, size_t len, struct calibration *ret,
                            struct err *err);

/* [{"bytes":..,"nodes":1,"size":..,"time_ns":..}, ...]: the points of docs/api.md. */
void wire_calibration_points(const struct calibration *calibration, struct buf *out);

#endif
