/* SPDX-License-Identifier: Apache-2.0 */
/* vault.h - the values of jobs' environments: STATE/env, of the daemon's user alone.
 *
 * They are secrets, so the journal has their names and a key. A submit hands them over
 * under that key; the thread that writes the journal puts them on the disk before the
 * row. Once the job has its number the file is called after it; at the job's end it is
 * removed. What a crash leaves in between is put right by vault_sweep(). */
#ifndef BACKEND_LOCAL_VAULT_H
#define BACKEND_LOCAL_VAULT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/core.h"
#include "wire/launch.h"

struct vault_entry {
    char key[LAUNCH_KEY + 1];
    struct buf values;
};

struct vault {
    int dir_fd;
    pthread_mutex_t lock;        /* over what follows */
    struct vault_entry *waiting; /* for vault_sync(); owned */
    size_t n_waiting;
    size_t cap_waiting;
    char writing[LAUNCH_KEY + 1]; /* key that is being written; "": none */
    bool is_dropped;              /* meanwhile, what is being written */
};

/* E_IO, E_DENIED. Close with vault_close(), also after a failure. */
int vault_open(struct vault *vault, const char *state_dir, struct err *err) ATTR_MUST_USE;
void vault_close(struct vault *vault);

/* Takes the text over, and makes its key. E_IO (no random numbers), E_NOMEM. */
int vault_put(struct vault *vault, struct buf *values, char ret_key[LAUNCH_KEY + 1],
              struct err *err) ATTR_MUST_USE;
/* Puts what waits on the disk, so that no row is durable whose values are not. From any
 * one thread. E_IO: still to be done. */
int vault_sync(struct vault *vault, struct err *err) ATTR_MUST_USE;
/* The values under the key are those of this job; harmless when they are already. */
void vault_settle(struct vault *vault, const char *key, uint32_t job);
/* Appends the values. E_NOTFOUND, E_IO, E_LIMIT, E_NOMEM. */
int vault_get(const struct vault *vault, uint32_t job, const char *key, struct buf *out,
              struct err *err) ATTR_MUST_USE;
void vault_drop(struct vault *vault, uint32_t job);
void vault_drop_key(struct vault *vault, const char *key);
/* After recovery: settles what live jobs have, removes what nobody has. */
void vault_sweep(struct vault *vault, const struct core *core);

#endif
