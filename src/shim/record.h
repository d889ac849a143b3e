/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - small files that survive a crash: whole as they were, or whole as they are.
 */
#ifndef SHIM_RECORD_H
#define SHIM_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

/* Temporary file, fsync, rename, fsync of the directory. E_IO. */
int record_write(int dir_fd, const char *name, const struct buf *text,
                 struct err *err) ATTR_MUST_USE;
/* Appends the file to *out, whose maximum bounds it. Links are not followed.
 * E_NOTFOUND, E_IO, E_LIMIT or E_NOMEM. */
int record_read(int dir_fd, const char *name, struct buf *out,
                struct err *err) ATTR_MUST_USE;
bool record_exists(int dir_fd, const char *name);
/* Makes what somebody else wrote durable; its name is with the next record_write(). */
int record_sync(int dir_fd, const char *name, struct err *err) ATTR_MUST_USE;
/* Locks the directory until dir_fd and its copies are closed, and the file until *ret_fd
 * is: a job can remove the file, and some file systems cannot lock a directory. *ret_fd
 * is -1 when the file cannot be had and the directory could. E_BUSY: another process
 * holds either. */
int record_lock(int dir_fd, const char *name, int *ret_fd, struct err *err) ATTR_MUST_USE;
/* The kernel's name for this boot; cap >= 40. */
int record_boot_id(char *ret, size_t cap, struct err *err) ATTR_MUST_USE;

#endif
