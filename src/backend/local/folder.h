/* SPDX-License-Identifier: Apache-2.0 */
/* folder.h - the directories of incarnations, STATE/jobs/JOB/INCARNATION.
 *
 * docs/protocol.md tells which files stand there and who writes them. A folder belongs to
 * the job's user, who may do in it as he likes: so everything is opened relative to
 * descriptors, links are not followed, and only regular files are read. */
#ifndef BACKEND_LOCAL_FOLDER_H
#define BACKEND_LOCAL_FOLDER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/order.h"

/* Opens STATE/jobs, and makes it (0700) when it is missing. E_IO or E_DENIED. */
int folder_open_jobs(const char *state_dir, int *ret_fd, struct err *err) ATTR_MUST_USE;
/* For when E_NOTFOUND says that somebody has removed STATE/NAME under us: makes it anew
 * behind the same descriptor, which others may be using in this moment. It is found by
 * the directory that it was in, so another one in the state's place is left alone.
 * E_NOTFOUND (the state is gone too), E_IO, E_DENIED. */
int folder_renew(int dir_fd, const char *name, struct err *err) ATTR_MUST_USE;

/* Makes the folder 0700 (it may exist) with the order and the directory for checkpoints
 * in it, all of them uid's and gid's when we are root. E_IO, E_DENIED, E_LIMIT, E_NOMEM.
 */
int folder_make(int jobs_fd, const struct order *order, struct err *err) ATTR_MUST_USE;
/* E_NOTFOUND, or E_IO. */
int folder_open(int jobs_fd, uint32_t job, uint32_t incarnation, int *ret_fd,
                struct err *err) ATTR_MUST_USE;

/* Removes the values of the environment, which a shim that never began has left. */
void folder_drop_env(int jobs_fd, uint32_t job, uint32_t incarnation);

/* The largest job that has a folder, 0 without any. E_IO or E_DENIED. */
int folder_newest_job(int jobs_fd, uint32_t *ret, struct err *err) ATTR_MUST_USE;

/* What the files say about an incarnation. */
enum folder_sign {
    FOLDER_EMPTY,   /* no order was written */
    FOLDER_ORDERED, /* nobody has taken the order */
    FOLDER_HELD,    /* a shim lives */
    FOLDER_BROKEN,  /* a shim had it and is gone without an end that can be read */
    FOLDER_ENDED,   /* *ret_exit tells how */
};

/* E_IO or E_DENIED when the directory cannot be opened, E_NOMEM. *ret_exit may be NULL.
 */
int folder_look(int jobs_fd, uint32_t job, uint32_t incarnation, enum folder_sign *ret,
                struct order_exit *ret_exit, struct err *err) ATTR_MUST_USE;

/* Makes sure that nobody takes the order any more: writes the end, under the lock, unless
 * one is there. E_BUSY when a shim holds it, E_NOTFOUND when there is no folder. */
int folder_close(int jobs_fd, const struct order_exit *record,
                 struct err *err) ATTR_MUST_USE;

/* The folder's path below STATE, "jobs/17/2"; returns text. */
/* Removes the folders of all incarnations of a job that has ended, with orders and logs.
 * What others have put there stays, and so do checkpoints; a folder that is empty then
 * goes. Any thread. */
void folder_forget(int jobs_fd, uint32_t job);

/* RUN/JOB-INCARNATION: where the channel lies when it cannot lie in the folder. To be
 * freed; NULL: out of memory. */
char *folder_channel(const char *run_dir, uint32_t job, uint32_t incarnation);
/* Makes order->channel_dir for the job's user. E_IO, E_DENIED. */
int folder_make_channel(const struct order *order, struct err *err) ATTR_MUST_USE;
/* Removes it and what a shim makes there, if it is there. */
void folder_drop_channel(const char *run_dir, uint32_t job, uint32_t incarnation);

#define FOLDER_PATH_BYTES 48
const char *folder_path(uint32_t job, uint32_t incarnation, char text[FOLDER_PATH_BYTES]);

#endif
