/* SPDX-License-Identifier: Apache-2.0 */
/* rank_argv.h - the words of a command, with what its launcher must know. Pure. */
#ifndef SHIM_RANK_ARGV_H
#define SHIM_RANK_ARGV_H

#include <stdint.h>

#include "base/attr.h"
#include "wire/order.h"

/* The order's argv. Where one command starts the ranks (LAUNCH_NODE, LAUNCH_ONCE),
 * {nproc}, {nnodes}, {node_rank}, {master_addr} and {master_port} are filled in wherever
 * they stand in a word; other braces stay. Release with rank_env_release. E_NOMEM or
 * E_LIMIT. */
int rank_argv_build(const struct order *order, int32_t master_port,
                    struct order_words *ret) ATTR_MUST_USE;

#endif
