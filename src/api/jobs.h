/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h - telling of jobs; inside api/ alone. */
#ifndef API_JOBS_H
#define API_JOBS_H

#include "api/past.h"
#include "api/request.h"

/* Answers for a job that must live and is not in the core: it has ended (409), or never
 * was (404), and that is certain only when its last row is on the disk; so the request
 * may wait for that. */
void jobs_answer_gone(struct request *r);

/* history: a JSON array, or NULL. */
void jobs_put_live(struct api *api, const struct job *job, const char *history,
                   struct buf *out);
void jobs_put_past(const struct past_job *job, const char *history, struct buf *out);

#endif
