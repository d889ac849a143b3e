/* SPDX-License-Identifier: Apache-2.0 */
/* rundir.h - a place for sockets on a file system of this machine, found again later. */
#ifndef LOOP_RUNDIR_H
#define LOOP_RUNDIR_H

#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"

/* Makes a directory that belongs to us alone, named after `state_dir` (absolute), and
 * writes its path into state_dir/run, where the next call finds it. Tried in this order:
 * what is written there; then, for root, below /run/elastane; for others below
 * $XDG_RUNTIME_DIR, /run/user/UID, /tmp/elastane-UID. The mode is 0700; root's can be
 * passed through (0711), for the folders that its users have within. E_DENIED: each place
 * that there is belongs to somebody else; E_IO; E_LIMIT: the path does not fit. */
int rundir_open(const char *state_dir, char *ret, size_t cap,
                struct err *err) ATTR_MUST_USE;

#endif
