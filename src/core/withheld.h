/* SPDX-License-Identifier: Apache-2.0 */
/* withheld.h - why devices that nobody holds are not given out, for people. */
#ifndef CORE_WITHHELD_H
#define CORE_WITHHELD_H

#include "core/cluster.h"

/* "1 gpu is in use by somebody else (ada, pid 4711, 10240 MiB)", of the devices of this
 * type (index in the cluster's types) that are withheld now. */
void withheld_text(const struct cluster *c, int32_t type, char ret[REASON_MAX_BYTES]);

#endif
