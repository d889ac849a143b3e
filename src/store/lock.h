/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h - a state directory has one owner. */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

#include "base/err.h"

/* Makes the directory (0700) when it is missing. Returns 0, E_DENIED
 * (others can write there, or it is another user's), E_IO. */
int lock_make_dir(const char *dir, struct err *err);

/* Takes DIR/lock and writes into it who holds it: program, pid, host, boot of that host.
 * `network` names the file system when other machines may share it (network.h), else
 * NULL. Returns the descriptor that keeps the lock; closing it, or the death of the
 * process, gives it free. Else E_BUSY (err: by whom it is held), E_DENIED (the directory
 * or the file is open to writing by others), E_IO. */
int lock_take(const char *dir, const char *holder, const char *network, struct err *err);

/* Gives it back in order: nobody's name is left inside. */
void lock_give(int fd);

/* Makes DIR/name with mode 0600 when it is missing, durably. Returns 0, E_DENIED, E_IO.
 */
int lock_make_file(const char *dir, const char *name, struct err *err);

#endif
