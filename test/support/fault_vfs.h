/* SPDX-License-Identifier: Apache-2.0 */
/* fault_vfs.h - a file system for SQLite that fails, or loses its power, on request.
 *
 * It stands before the default one. Writes and syncs are counted together from
 * fault_vfs_arm() on; number `nth` and, when is_lasting, all after it, fail. In a crash
 * everything that was written and not yet synced is undone, newest first, and the process
 * ends at once with status FAULT_VFS_STATUS: what a power cut leaves when the disk kept
 * nothing but its promises. For one writing thread. */
#ifndef TEST_SUPPORT_FAULT_VFS_H
#define TEST_SUPPORT_FAULT_VFS_H

#include <stdbool.h>

#define FAULT_VFS_NAME   "fault"
#define FAULT_VFS_STATUS 77

enum fault_kind {
    FAULT_NONE,
    FAULT_FULL, /* a write: no space left; a sync: I/O error */
    FAULT_CRASH,
};

/* Makes the file system known to SQLite; may be called again. */
void fault_vfs_register(void);
void fault_vfs_arm(enum fault_kind kind, long nth, bool is_lasting);
/* Ends the faults; returns how many there were since the last arm. */
long fault_vfs_disarm(void);

#endif
