/* SPDX-License-Identifier: Apache-2.0 */
/* final.h - has the job ended, and how does that read as an exit code. */
#ifndef CLI_FINAL_H
#define CLI_FINAL_H

#include <stdint.h>

#include "cli/client.h"
#include "core/job.h"

/* A state by its name; JOB_STATE_MAX when this program does not know it. */
enum job_state final_state(const char *name);
/* The state that the daemon says the job has. Errors as client_call(); E_CORRUPT when the
 * state is unknown here. */
int final_ask(struct client *client, uint32_t job, enum job_state *ret, struct err *err);
/* CLI_OK for done, CLI_JOB_* for other final states, CLI_FAILED for the rest. */
int final_exit(enum job_state state);

#endif
