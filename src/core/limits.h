/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - every named maximum of the core. Admission checks them; what was admitted
 * cannot make core_decide fail for size (DESIGN 4.4, STYLE 6). */
#ifndef CORE_LIMITS_H
#define CORE_LIMITS_H

#define JOBS_MAX         (1 << 15) /* jobs that are not in a final state */
#define SIZE_MAX_DEVICES (1 << 13) /* devices of one job */
#define DEVICES_MAX      (1 << 20) /* devices of one type in the cluster */
#define NODES_MAX        (1 << 14)
#define NODE_DEVICES_MAX 1024
#define BATCH_MAX        (1 << 24)   /* samples per optimizer step */
#define TRAINED_MAX      (1LL << 53) /* of a training: sums fit, JSON readers are exact */
#define VALUE_MAX        (1 << 30)   /* |v| in 1e-6 of the value's unit */

#define NAME_MAX_BYTES   64 /* of a job, node, device type or family, with the '\0' */
#define REASON_MAX_BYTES 96 /* with the '\0' */
#define DEVICE_WHO_BYTES 64 /* who is on a device that is not given out */
#define LAUNCH_MAX_BYTES (256 << 10)

#define SIZES_LISTED_MAX 64 /* sizes given one by one */
#define PROC_POINTS_MAX  24 /* measured (micro-batch, time) pairs of one job */
#define COMM_POINTS_MAX  24 /* measured (size, time) pairs of one job */
#define STEP_POINTS_MAX                                                                  \
    24                    /* measured whole steps of one job, by size and micro-batch    \
                           */
#define PROFILES_MAX 1024 /* families whose model is remembered */
#define RETRIES_MAX  100

#endif
