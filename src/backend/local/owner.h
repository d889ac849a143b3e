/* SPDX-License-Identifier: Apache-2.0 */
/* owner.h - whose process a pid is, from /proc. */
#ifndef BACKEND_LOCAL_OWNER_H
#define BACKEND_LOCAL_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#define OWNER_NAME_BYTES 32

struct owner {
    bool is_known; /* /proc has it; else it has just ended, or we cannot see it */
    uint32_t job;  /* ours, of this job; 0: somebody else's */
    uint32_t uid;
};

/* A process is a job's when it, or one that it descends from, has the job's channel below
 * state_dir or run_dir (where sockets are, or NULL) in its environment, as all that a
 * shim starts has. */
void owner_find(int32_t pid, const char *state_dir, const char *run_dir,
                struct owner *ret);

/* The user's name, or "uid 1000" where there is none. May ask a server on the network. */
void owner_name(uint32_t uid, char ret[OWNER_NAME_BYTES]);

#endif
