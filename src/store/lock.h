/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h - a state directory has one owner. */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

#include "base/err.h"

/* Makes the directory (0700) when it is missing, takes DIR/lock and writes into it who
 * holds it. Returns the descriptor that keeps the lock; closing it, or the death of the
 * process, gives it free. Else E_BUSY (err: by whom it is held), E_DENIED (the directory
 * or the file is open to writing by others), E_IO. */
int lock_take(const char *dir, const char *holder, struct err *err);

/* Makes DIR/name with mode 0600 when it is missing, durably. Returns 0, E_DENIED, E_IO.
 */
int lock_make_file(const char *dir, const char *name, struct err *err);

#endif
