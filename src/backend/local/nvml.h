/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h - which GPUs this machine has and who is on them, asked of NVIDIA's library at
 * run time.
 *
 * The library is opened with dlopen and declared by us; nothing of it is needed to build.
 * Absent, incomplete or failing means no GPUs, never an error. */
#ifndef BACKEND_LOCAL_NVML_H
#define BACKEND_LOCAL_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "core/limits.h"
#include "wire/order.h"

#define NVML_WHY_BYTES   160
#define NVML_PROCESS_MAX 128 /* told of one device */

struct nvml_device {
    char name[NAME_MAX_BYTES]; /* "NVIDIA A100-SXM4-40GB" */
    char uuid[ORDER_UUID];     /* "GPU-..."; "" when the library cannot tell */
    int64_t mem_bytes;
    int64_t used_bytes;
};

/* The library, loaded and initialised; devices are counted from 0. */
struct nvml;

/* NULL when there is none that works; why then says for people what was missing. */
struct nvml *nvml_open(char why[NVML_WHY_BYTES]);
void nvml_close(struct nvml *nvml);

/* Fills at most cap devices; returns how many there are (at most cap). With 0, why says
 * for people what was missing. */
int32_t nvml_discover(const struct nvml *nvml, struct nvml_device *ret, int32_t cap,
                      char why[NVML_WHY_BYTES]);

struct nvml_process {
    int32_t pid;
    int64_t bytes; /* on this device; -1: not known */
};

/* Who is on a device now. */
struct nvml_use {
    int64_t used_bytes; /* by whomever, less what the driver keeps for itself */
    struct nvml_process processes[NVML_PROCESS_MAX]; /* that compute */
    int32_t n_processes;
};

/* False when the device does not answer. Takes about a millisecond. */
bool nvml_look(const struct nvml *nvml, int32_t device,
               struct nvml_use *ret) ATTR_MUST_USE;

/* The device type of a node with these GPUs: the common name in lower case, its maker
 * left out, blanks as '-'; "gpu" when they differ. */
void nvml_device_type(const struct nvml_device *devices, int32_t n,
                      char ret[NAME_MAX_BYTES]);

#endif
