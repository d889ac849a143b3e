/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.c - see nvml.h. The few functions that we call are stable since NVML's second
 * version; all return 0 for success. The library is closed again: devices are counted
 * once, at the start of the daemon, so that no foreign code lives in its process. */
#include "backend/local/nvml.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

#define NVML_LIBRARY    "libnvidia-ml.so.1"
#define NVML_NAME_BYTES 96

struct nvml_memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

struct nvml {
    void *lib;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *ret);
    int (*handle)(unsigned index, void **ret);
    int (*name)(void *device, char *ret, unsigned cap);
    int (*memory)(void *device, struct nvml_memory *ret);
};

static bool load(struct nvml *n, char why[NVML_WHY_BYTES])
{
    const struct {
        const char *name;
        void *slot;
    } symbols[] = {
        {"nvmlInit_v2", &n->init},
        {"nvmlShutdown", &n->shutdown},
        {"nvmlDeviceGetCount_v2", &n->count},
        {"nvmlDeviceGetHandleByIndex_v2", &n->handle},
        {"nvmlDeviceGetName", &n->name},
        {"nvmlDeviceGetMemoryInfo", &n->memory},
    };

    n->lib = dlopen(NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!n->lib) {
        (void)snprintf(why, NVML_WHY_BYTES, "there is no " NVML_LIBRARY);
        return false;
    }
    for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
        *(void **)symbols[i].slot = dlsym(n->lib, symbols[i].name);
        if (*(void **)symbols[i].slot)
            continue;
        (void)snprintf(why, NVML_WHY_BYTES, NVML_LIBRARY " has no %s", symbols[i].name);
        return false;
    }
    return true;
}

static bool describe(const struct nvml *n, unsigned index, struct nvml_device *ret)
{
    char name[NVML_NAME_BYTES] = "";
    struct nvml_memory memory = {0};
    void *device = NULL;

    if (n->handle(index, &device) != 0 || n->name(device, name, sizeof(name)) != 0 ||
        n->memory(device, &memory) != 0)
        return false;
    name[sizeof(name) - 1] = '\0';
    (void)snprintf(ret->name, sizeof(ret->name), "%s", name);
    ret->mem_bytes = (int64_t)memory.total;
    ret->used_bytes = (int64_t)memory.used;
    return true;
}

static int32_t count(const struct nvml *n, struct nvml_device *ret, int32_t cap,
                     char why[NVML_WHY_BYTES])
{
    unsigned found = 0;
    int32_t i = 0;

    if (n->init() != 0) {
        (void)snprintf(why, NVML_WHY_BYTES, NVML_LIBRARY " cannot be initialised");
        return 0;
    }
    if (n->count(&found) != 0)
        found = 0;
    while (i < cap && (unsigned)i < found && describe(n, (unsigned)i, &ret[i]))
        i++;
    (void)n->shutdown();
    if ((unsigned)i < found && i < cap) {
        (void)snprintf(why, NVML_WHY_BYTES, "GPU %d of %u does not answer", i, found);
        return 0; /* indices would be wrong: all or none */
    }
    if (i == 0)
        (void)snprintf(why, NVML_WHY_BYTES, NVML_LIBRARY " finds no GPU");
    return i;
}

int32_t nvml_discover(struct nvml_device *ret, int32_t cap, char why[NVML_WHY_BYTES])
{
    struct nvml n = {0};
    int32_t found = 0;

    why[0] = '\0';
    if (load(&n, why))
        found = count(&n, ret, cap, why);
    if (n.lib)
        (void)dlclose(n.lib);
    return found;
}

/* As a word of a flag: small letters, digits and '-', whatever the locale. */
static char tidy(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
}

void nvml_device_type(const struct nvml_device *devices, int32_t n,
                      char ret[NAME_MAX_BYTES])
{
    static const char maker[] = "NVIDIA ";
    const char *name = n > 0 ? devices[0].name : "";

    if (text_starts_with(name, maker))
        name += sizeof(maker) - 1;
    for (int32_t i = 1; i < n; i++)
        if (!text_equal(devices[i].name, devices[0].name))
            name = "";
    (void)snprintf(ret, NAME_MAX_BYTES, "%s", name[0] ? name : "gpu");
    for (char *c = ret; *c; c++)
        *c = tidy(*c);
}
