/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - which devices, once the numbers are known (DESIGN 4.6).
 *
 * Rules in order: keep what is held; grow on own nodes; a node that fits the rest whole,
 * the fullest such first; else fewest nodes, those with most free devices first; ties by
 * index. */
#ifndef CORE_PLACE_H
#define CORE_PLACE_H

#include <stdint.h>

#include "core/cluster.h"

/* The devices that may still be given out: those that nobody holds, not marked, on nodes
 * that are up, less those that earlier moves of the same plan have taken. */
struct place_pool {
    const struct cluster *cluster; /* lent */
    uint8_t *free;                 /* one byte a device */
    int32_t *on_node;              /* how many of them, by node */
    int32_t *of_type;              /* the same by index of the device type */
    int32_t *held;                 /* by node; all 0 between calls */
};

/* Everything that is free in the cluster now. Returns 0 or E_NOMEM; release in both
 * cases. */
int place_pool_init(struct place_pool *pool, const struct cluster *cluster);
void place_pool_release(struct place_pool *pool);
/* Takes the devices out; those that are not in the pool stay as they are. */
void place_pool_take(struct place_pool *pool, const int32_t *devices, int32_t n);

/* Chooses `size` devices of this type (index in the cluster's types) for the job, from
 * those that it holds and are not marked and those in the pool, which is not changed.
 * Writes ascending indices to ret_devices (room for size). Returns 0, or E_INFEASIBLE
 * when there are too few. */
int place_choose(struct place_pool *pool, uint32_t job, int32_t type, int32_t size,
                 int32_t *ret_devices);

/* Number of different nodes among the devices, which are in ascending order. */
int32_t place_nodes(const struct cluster *cluster, const int32_t *devices, int32_t n);

#endif
