/* SPDX-License-Identifier: Apache-2.0 */
/* vault.h - the values of jobs' environments: STATE/env, of the daemon's user alone.
 *
 * They are secrets, so the journal has their names and a key. A submit puts them here
 * under that key before it is journalled; once the job has its number the file is called
 * after it; at the job's end it is removed. What a crash leaves in between is put right
 * by vault_sweep(). */
#ifndef BACKEND_LOCAL_VAULT_H
#define BACKEND_LOCAL_VAULT_H

#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/core.h"
#include "wire/launch.h"

struct vault {
    int dir_fd;
};

/* E_IO, E_DENIED. Close with vault_close(), also after a failure. */
int vault_open(struct vault *vault, const char *state_dir, struct err *err) ATTR_MUST_USE;
void vault_close(struct vault *vault);

/* Durable when it returns. E_IO. */
int vault_put(struct vault *vault, const struct buf *values, char ret_key[LAUNCH_KEY + 1],
              struct err *err) ATTR_MUST_USE;
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
