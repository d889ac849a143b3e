/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h - a whole state as text, seen as the changes that build it. */
#ifndef WIRE_SNAPSHOT_H
#define WIRE_SNAPSHOT_H

#include <stdint.h>

#include "base/buf.h"
#include "core/change.h"

/* Appends {"changes":[...],"format":1,"seq":N}; errors stick in the buf. Reading it back
 * is wire_snapshot_decode(). */
void snapshot_encode(const struct changes *changes, int64_t seq, struct buf *out);

#endif
