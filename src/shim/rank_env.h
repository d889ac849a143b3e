/* SPDX-License-Identifier: Apache-2.0 */
/* rank_env.h - the environment contract (docs/environment.md). Pure. */
#ifndef SHIM_RANK_ENV_H
#define SHIM_RANK_ENV_H

#include <stdint.h>

#include "base/attr.h"
#include "wire/order.h"

/* The environment of the order's rank at `index` (not rank number), or of the command
 * that starts all ranks of this node, which finds the names of the group but none of one
 * rank: the job's own, with the contract's names set anew. `dir` is the incarnation's
 * directory. Release with rank_env_release.
 * E_NOMEM or E_LIMIT. */
int rank_env_build(const struct order *order, int32_t index, int32_t master_port,
                   const char *dir, struct order_words *ret) ATTR_MUST_USE;
void rank_env_release(struct order_words *words);

#endif
