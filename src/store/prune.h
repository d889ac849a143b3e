/* SPDX-License-Identifier: Apache-2.0 */
/* prune.h - what the state need not keep. store.h tells the rules. */
#ifndef STORE_PRUNE_H
#define STORE_PRUNE_H

#include <sqlite3.h>

#include "store/store.h"

/* Removes a bounded part of what may go; called again after each snapshot, it keeps up.
 * A failure is of no consequence: the next call tries again. For the writer's thread. */
void prune_run(sqlite3 *db, const struct store_options *options);

#endif
