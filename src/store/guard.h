/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - whether the state is still where it was opened.
 *
 * An open file outlives its name: after `rm -rf STATE` writes still succeed, and all that
 * they say is lost with the process. So the names are looked at before each commit. */
#ifndef STORE_GUARD_H
#define STORE_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define GUARD_FILES 4

struct guard {
    char *dir;
    struct guard_file {
        bool is_known; /* it was there at the beginning */
        dev_t device;
        ino_t inode;
    } files[GUARD_FILES];
};

/* Remembers the files of the state in `dir`. E_NOMEM. */
int guard_init(struct guard *guard, const char *dir, struct err *err);
void guard_release(struct guard *guard);

/* 0, or E_IO when a name is gone or leads to another file: the directory was removed,
 * moved or replaced. Reads only what guard_init() has written, so any thread may. */
int guard_check(const struct guard *guard, struct err *err);

#endif
