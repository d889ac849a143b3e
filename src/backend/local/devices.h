/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - whether this machine's GPUs are free when nobody holds them.
 *
 * Each is looked at every few seconds, before a job starts on it, and when one has ended
 * there. One that is not clean is marked in the core by EVENT_DEVICE (core/cluster.h),
 * and is clean again after a span without any trace. CPU slots are not looked at. */
#ifndef BACKEND_LOCAL_DEVICES_H
#define BACKEND_LOCAL_DEVICES_H

#include <stdbool.h>

#include "backend/local/local.h"
#include "backend/local/posts.h"

struct devices;

/* NULL when out of memory. */
struct devices *devices_new(struct local *local, const struct local_gpus *gpus);
void devices_free(struct devices *devices);

/* The first look; from here on they are looked at again and again. */
void devices_begin(struct devices *devices);

/* Before a start: whether every device that the job is to have is clean, this moment. If
 * not, it is marked, and `why` tells it in at most cap bytes. */
bool devices_may_start(struct devices *devices, uint32_t job, char *why, size_t cap);
/* After an end: whether every device that the job had is clean, or not through the job's
 * fault. With `is_last`, what is not clean is marked. */
bool devices_are_left(struct devices *devices, uint32_t job, bool is_last);

#endif
