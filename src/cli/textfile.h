/* SPDX-License-Identifier: Apache-2.0 */
/* textfile.h - files that commands read and write as a whole. */
#ifndef CLI_TEXTFILE_H
#define CLI_TEXTFILE_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

/* Appends the file, "-" is standard input; `out` says how large it may be. Anything but
 * a regular file is refused: nobody is waited for at the other end of a pipe. E_NOTFOUND,
 * E_IO, E_INVALID, E_LIMIT, E_NOMEM. */
int textfile_read(const char *path, struct buf *out, struct err *err) ATTR_MUST_USE;

/* Writes the file anew. E_IO, E_NOMEM. */
int textfile_write(const char *path, const struct buf *text,
                   struct err *err) ATTR_MUST_USE;

#endif
