/* SPDX-License-Identifier: Apache-2.0 */
/* joblog.h - what a rank of a job wrote, all incarnations one after the other. */
#ifndef BACKEND_LOCAL_JOBLOG_H
#define BACKEND_LOCAL_JOBLOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct joblog {
    int jobs_fd; /* local_jobs_fd() */
    uint32_t job;
    uint32_t uid;          /* whose files may be read */
    uint32_t incarnations; /* 1 to this one */
    int32_t rank;
    const char *log_dir; /* lent; NULL or "": the folders of the incarnations */
};

struct joblog_piece {
    void *bytes; /* the caller's */
    size_t room;
    size_t n; /* how many there are; 0 at the end, or when nothing was written yet */
    int64_t offset; /* of the first: beyond the one asked for when that is not kept */
};

/* Puts what was written from `offset` on into the piece, whose bytes and room are given.
 * E_NOTFOUND: the rank has no log at all; E_IO. */
int joblog_read(const struct joblog *log, int64_t offset,
                struct joblog_piece *inout) ATTR_MUST_USE;

#endif
