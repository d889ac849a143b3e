/* SPDX-License-Identifier: Apache-2.0 */
/* final.c - see final.h. */
#include "cli/final.h"

#include <stdio.h>
#include <string.h>

#include "wire/reply.h"

enum job_state final_state(const char *name)
{
    for (unsigned i = 0; i < JOB_STATE_MAX; i++)
        if (strcmp(job_state_name((enum job_state)i), name) == 0)
            return (enum job_state)i;
    return JOB_STATE_MAX;
}

int final_ask(struct client *client, uint32_t job, enum job_state *ret, struct err *err)
{
    struct reply_job reply = {0};
    struct buf body;
    char path[64];
    int rc;

    (void)snprintf(path, sizeof path, "/v1/jobs/%u", (unsigned)job);
    buf_init(&body, REPLY_MAX);
    rc = client_call(client, "GET", path, NULL, &body, err);
    if (rc == 0)
        rc = reply_job_decode(body.text, body.len, &reply, err);
    if (rc == 0) {
        *ret = final_state(reply.state);
        if (*ret == JOB_STATE_MAX)
            rc = err_set(err, E_CORRUPT, "the daemon knows a state '%s' that we do not",
                         reply.state);
    }
    reply_job_release(&reply);
    buf_release(&body);
    return rc;
}

int final_exit(enum job_state state)
{
    switch (state) {
    case JOB_DONE:
        return CLI_OK;
    case JOB_FAILED:
        return CLI_JOB_FAILED;
    case JOB_CANCELLED:
        return CLI_JOB_CANCELLED;
    case JOB_DROPPED:
        return CLI_JOB_DROPPED;
    case JOB_QUEUED:
    case JOB_STARTING:
    case JOB_RUNNING:
    case JOB_RESIZING:
    case JOB_STOPPING:
    case JOB_PAUSED:
    case JOB_STATE_MAX:
        break;
    }
    return CLI_FAILED;
}
