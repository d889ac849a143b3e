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

/* Chooses `size` devices of the type ("" is any; all on one type) for the job from those
 * it holds and those in `free` (one byte a device: 1 is free; the caller keeps it current
 * across several jobs of one plan). Writes ascending indices to ret_devices (room for
 * size). Returns 0,
 * E_INFEASIBLE when there are too few, or E_NOMEM; `free` is not changed. */
int place_choose(const struct cluster *cluster, uint32_t job, const char *device_type,
                 int32_t size, const uint8_t *free, int32_t *ret_devices);

/* Number of different nodes among the devices. */
int32_t place_nodes(const struct cluster *cluster, const int32_t *devices, int32_t n);

#endif
