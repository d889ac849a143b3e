/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h - which GPUs this machine has, asked of NVIDIA's library at run time.
 *
 * The library is opened with dlopen and declared by us; nothing of it is needed to build.
 * Absent, incomplete or failing means no GPUs, never an error. */
#ifndef BACKEND_LOCAL_NVML_H
#define BACKEND_LOCAL_NVML_H

#include <stdint.h>

#include "core/limits.h"

#define NVML_WHY_BYTES 160

struct nvml_device {
    char name[NAME_MAX_BYTES]; /* "NVIDIA A100-SXM4-40GB" */
    int64_t mem_bytes;
    int64_t used_bytes;
};

/* Fills at most cap devices; returns how many there are (at most cap). With 0, why says
 * for people what was missing. */
int32_t nvml_discover(struct nvml_device *ret, int32_t cap, char why[NVML_WHY_BYTES]);

/* The device type of a node with these GPUs: the common name in lower case, its maker
 * left out, blanks as '-'; "gpu" when they differ. */
void nvml_device_type(const struct nvml_device *devices, int32_t n,
                      char ret[NAME_MAX_BYTES]);

#endif
