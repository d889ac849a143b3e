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

/* Puts up to n bytes from `offset` on into ret. *ret_n is how many; 0 at the end, or when
 * nothing was written yet. E_NOTFOUND: the rank has no log at all; E_IO. */
int joblog_read(const struct joblog *log, int64_t offset, void *ret, size_t n,
                size_t *ret_n) ATTR_MUST_USE;

#endif
